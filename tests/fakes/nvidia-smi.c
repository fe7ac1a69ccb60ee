/* A stand-in for nvidia-smi: the CSV query torchpick asks, answered from a file (config.h). */
#include "config.h"

static void cell(const struct gpu *gpu, const char *name, const char *driver) {
    if (gpu->smi[0] && strcmp(gpu->smi, "no")) printf("[%s]", gpu->smi); /* smi=N/A, smi=GPU_is_lost */
    else if (!strcmp(name, "driver_version")) printf("%s", driver);
    else if (!strcmp(name, "uuid")) printf("%s", gpu->uuid);
    else if (!strcmp(name, "pci.bus_id")) printf("%s", gpu->pci);
    else if (!strcmp(name, "compute_cap")) printf("%s", gpu->cc);
    else if (!strcmp(name, "name")) printf("%s", gpu->name);
}

int main(int count, char **words) {
    char text[1024], version[64];
    read_config();
    act("smi.act");
    char what[64];
    if (!strcmp(word("smi.act", "", what, sizeof what), "wedge") && fork() == 0) {
        for (;;) pause(); /* a grandchild that keeps the pipe open */
    }
    const char *said = word("smi.text", NULL, text, sizeof text);
    if (said) {
        printf("%s\n", said);
        return (int)number("smi.status", 9);
    }
    const char *driver = word("smi.driver", word("nvml.driver", "580.95.05", version, sizeof version), text, sizeof text);
    for (int place = 1; place < count; place++) {
        if (strncmp(words[place], "--query-gpu=", 12)) continue;
        if (number("smi.no_cap", 0) && strstr(words[place], "compute_cap")) {
            printf("Field \"compute_cap\" is not a valid field to query.\n\n");
            return 2;
        }
        for (int gpu = 0; gpu < config.count; gpu++) {
            if (!strcmp(config.gpus[gpu].smi, "no")) continue;
            char fields[256];
            snprintf(fields, sizeof fields, "%s", words[place] + 12);
            int first = 1;
            for (char *name = strtok(fields, ","); name; name = strtok(NULL, ","), first = 0) {
                if (!first) printf(", ");
                cell(&config.gpus[gpu], name, driver);
            }
            printf("\n");
        }
    }
    return (int)number("smi.status", 0);
}
