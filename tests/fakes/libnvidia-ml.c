/* A stand-in for libnvidia-ml.so.1: the symbols torchpick calls through pynvml, answered from a file (config.h). */
#include "config.h"

typedef struct gpu *device;
typedef struct { char legacy[16]; unsigned domain, bus, slot, id, subsystem; char bus_id[32]; } pci_info;

static int started;

static int init(void) {
    read_config();
    leave("nvml.leaves");
    act("nvml.act");
    long status = number("nvml.init", 0);
    started = status == 0;
    return (int)status;
}

#ifndef NO_INIT_WITH_FLAGS
int nvmlInitWithFlags(unsigned flags) { (void)flags; return init(); }
#endif
#ifdef FAILING_INIT_V2
int nvmlInit_v2(void) { return 1; }
#else
int nvmlInit_v2(void) { return init(); }
#endif
int nvmlInit(void) { return init(); }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int status) { (void)status; return "an error of the stand-in"; }

int nvmlSystemGetDriverVersion(char *into, unsigned size) {
    char text[128];
    const char *version = word("nvml.driver", "580.95.05", text, sizeof text);
    if (!started) return 1;
    if (strlen(version) >= size) return 7;
    strcpy(into, version);
    return 0;
}

static int cuda_version(const char *key, long otherwise, int *version) {
    char text[256];
    const char *library = word("nvml.dlopen", NULL, text, sizeof text);
    if (library) {
        void *handle = dlopen(library, RTLD_NOW);
        int (*ask)(int *) = handle ? (int (*)(int *))dlsym(handle, "cuDriverGetVersion") : NULL;
        return ask ? ask(version) : 12;
    }
    long told = number(key, otherwise);
    if (told == 0) return 12;
    *version = (int)told;
    return 0;
}
int nvmlSystemGetCudaDriverVersion(int *version) { return cuda_version("nvml.cuda_v1", 0, version); }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { return cuda_version("nvml.cuda", 13000, version); }

int nvmlDeviceGetCount_v2(unsigned *count) {
    if (!started) return 1;
    *count = (unsigned)number("nvml.count", config.count);
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, device *into) {
    if (index >= (unsigned)config.count) return 2;
    *into = &config.gpus[index];
    return config.gpus[index].handle;
}

#ifndef NO_CAPABILITY
int nvmlDeviceGetCudaComputeCapability(device gpu, int *major, int *minor) {
    return gpu->cap ? gpu->cap : capability_of(gpu, major, minor);
}
#endif

int nvmlDeviceGetName(device gpu, char *into, unsigned size) {
    if (gpu->name_length >= (int)size) {
        memcpy(into, gpu->name, size); /* without an end */
        return 0;
    }
    memcpy(into, gpu->name, (size_t)gpu->name_length + 1);
    return 0;
}

/* A MIG instance's handle points into its parent's list of UUIDs. */
static int is_instance(const void *handle) {
    const char *at = handle;
    for (int place = 0; place < config.count; place++) {
        const char *mig = config.gpus[place].mig;
        if (at >= mig && at < mig + sizeof config.gpus[place].mig) return 1;
    }
    return 0;
}

int nvmlDeviceGetUUID(void *handle, char *into, unsigned size) {
    const char *uuid = is_instance(handle) ? handle : ((device)handle)->uuid;
    size_t length = strcspn(uuid, ",");
    if (!length) return 3;
    if (length >= size) return 7;
    memcpy(into, uuid, length);
    into[length] = 0;
    return 0;
}

int nvmlDeviceGetPciInfo_v3(device gpu, pci_info *into) {
    if (!gpu->pci[0]) return 3;
    memset(into, 0, sizeof *into);
    strncpy(into->bus_id, gpu->pci, sizeof into->bus_id - 1);
    return 0;
}

int nvmlDeviceGetMigMode(device gpu, unsigned *current, unsigned *pending) {
    if (!gpu->mig[0]) return 3;
    *current = *pending = 1;
    return 0;
}
int nvmlDeviceGetMaxMigDeviceCount(device gpu, unsigned *count) { (void)gpu; *count = 7; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(device gpu, unsigned index, void **into) {
    char *at = gpu->mig;
    while (index-- && at) at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
    if (!at || !*at) return 6;
    *into = at;
    return 0;
}
