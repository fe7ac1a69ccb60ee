/* A stand-in for libcuda.so.1: device attributes without a context, answered from a file (config.h). */
#include "config.h"

static int places[MOST_GPUS], shown;

int cuInit(unsigned flags) {
    (void)flags;
    read_config();
    act("cuda.act");
    long status = number("cuda.init", 0);
    if (status) return (int)status;
    /* The real one hides what this variable does not name; the probe must have taken it away. */
    if (getenv("CUDA_VISIBLE_DEVICES")) return 100;
    char text[256];
    const char *order = word("cuda.order", NULL, text, sizeof text);
    shown = 0;
    for (int place = 0; order ? *order != 0 : place < config.count; place++) {
        int gpu = order ? (int)strtol(order, (char **)&order, 10) : place;
        if (order && *order == ',') order++;
        if (gpu < config.count && strcmp(config.gpus[gpu].cuda, "no")) places[shown++] = gpu;
    }
    return shown ? 0 : 100;
}

int cuDriverGetVersion(int *version) {
    read_config();
    *version = (int)number("cuda.version", 13000);
    return 0;
}
int cuDeviceGetCount(int *count) { *count = shown; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return ordinal < shown ? 0 : 101; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    int major = *value, minor = *value;
    capability_of(&config.gpus[places[device]], &major, &minor);
    *value = attribute == 75 ? major : minor;
    return 0;
}
int cuDeviceGetName(char *into, int size, int device) {
    snprintf(into, (size_t)size, "%s", config.gpus[places[device]].name);
    return 0;
}
int cuDeviceGetPCIBusId(char *into, int size, int device) {
    const char *pci = config.gpus[places[device]].pci;
    if (!*pci) return 1;
    snprintf(into, (size_t)size, "%s", strlen(pci) > 12 ? pci + strlen(pci) - 12 : pci);
    return 0;
}
int cuDeviceGetUuid(unsigned char *into, int device) {
    const char *at = config.gpus[places[device]].uuid;
    if (!strncmp(at, "GPU-", 4)) at += 4;
    for (int byte = 0; byte < 16; byte++) {
        unsigned value = 0;
        while (*at == '-') at++;
        if (sscanf(at, "%2x", &value) != 1) return 1;
        into[byte] = (unsigned char)value;
        at += 2;
    }
    return 0;
}
