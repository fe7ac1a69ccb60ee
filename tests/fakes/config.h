/* What the stand-ins for NVIDIA's libraries answer from: a file of `key value` lines, named by FAKE_NVIDIA.
 *
 *   nvml.init 18              a status; likewise cuda.init
 *   nvml.act segv             in init: segv, abort, exit, eat, hang, print, chatter, stub; likewise cuda.act
 *   nvml.leaves PATH          in init: start what leaves its session and its parent, and write its process there
 *   nvml.driver 580.95.05     nvml.cuda 13000 (0: status 12), nvml.cuda_v1, nvml.count, nvml.dlopen libcuda.so.1
 *   cuda.version 13000        cuda.order 2,0,1 (places of the gpu lines)
 *   gpu cc=8.6 uuid=GPU-… pci=00000000:01:00.0 handle=15 cap=15 mig=MIG-… cuda=no name=NVIDIA …   (name last)
 *
 * `name=hex:f8ff` gives raw bytes; `cc=untouched` leaves the numbers as they are; `cc=9999.-1` writes nonsense.
 */
#ifndef FAKE_CONFIG_H
#define FAKE_CONFIG_H
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_GPUS 80

struct gpu {
    char cc[32], uuid[128], pci[64], mig[512], cuda[8], name[256];
    int handle, cap, name_length;
};

static struct { int read, count; char text[16384]; struct gpu gpus[MOST_GPUS]; } config;

static const char *line_of(const char *key) {
    size_t length = strlen(key);
    for (const char *at = config.text; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (!strncmp(at, key, length) && at[length] == ' ') return at + length + 1;
    return NULL;
}

static const char *word(const char *key, const char *otherwise, char *into, size_t size) {
    const char *at = line_of(key);
    size_t length = at ? strcspn(at, "\n") : 0;
    if (!at) return otherwise;
    if (length >= size) length = size - 1;
    memcpy(into, at, length);
    into[length] = 0;
    return into;
}

static long number(const char *key, long otherwise) {
    char text[64];
    const char *found = word(key, NULL, text, sizeof text);
    return found ? strtol(found, NULL, 10) : otherwise;
}

static void field(const char *line, const char *key, char *into, size_t size) {
    char wanted[32];
    snprintf(wanted, sizeof wanted, "%s=", key);
    const char *end = line + strcspn(line, "\n"), *at = line;
    for (; at < end; at += strcspn(at, " \n") + 1) {
        if (strncmp(at, wanted, strlen(wanted))) {
            if (!strncmp(at, "name=", 5)) return;
            continue;
        }
        at += strlen(wanted);
        size_t length = !strcmp(key, "name") ? (size_t)(end - at) : strcspn(at, " \n");
        if (length >= size) length = size - 1;
        memcpy(into, at, length);
        into[length] = 0;
        return;
    }
}

static void read_gpu(const char *line, struct gpu *gpu) {
    char text[64] = "";
    strcpy(gpu->name, "NVIDIA Fake");
    field(line, "cc", gpu->cc, sizeof gpu->cc);
    field(line, "uuid", gpu->uuid, sizeof gpu->uuid);
    field(line, "pci", gpu->pci, sizeof gpu->pci);
    field(line, "mig", gpu->mig, sizeof gpu->mig);
    field(line, "cuda", gpu->cuda, sizeof gpu->cuda);
    field(line, "name", gpu->name, sizeof gpu->name);
    field(line, "handle", text, sizeof text);
    gpu->handle = atoi(text);
    strcpy(text, "");
    field(line, "cap", text, sizeof text);
    gpu->cap = atoi(text);
    gpu->name_length = (int)strlen(gpu->name);
    if (!strncmp(gpu->name, "hex:", 4)) {
        int at = 0;
        for (char *hex = gpu->name + 4; hex[0] && hex[1]; hex += 2) {
            unsigned byte;
            sscanf(hex, "%2x", &byte);
            gpu->name[at++] = (char)byte;
        }
        gpu->name[at] = 0;
        gpu->name_length = at;
    }
}

static void read_config(void) {
    const char *path = getenv("FAKE_NVIDIA");
    FILE *file = path ? fopen(path, "r") : NULL;
    if (config.read++ || !file) return;
    size_t length = fread(config.text, 1, sizeof config.text - 1, file);
    config.text[length] = 0;
    fclose(file);
    for (const char *at = config.text; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (!strncmp(at, "gpu ", 4) && config.count < MOST_GPUS) read_gpu(at + 4, &config.gpus[config.count++]);
}

/* How libraries misbehave in their init. */
static void act(const char *key) {
    char text[64];
    const char *what = word(key, "", text, sizeof text);
    if (!strcmp(what, "segv")) raise(SIGSEGV);
    if (!strcmp(what, "abort")) abort();
    if (!strcmp(what, "exit")) exit(0);
    /* Asks for 8 GiB, and does not look whether it got them. */
    if (!strcmp(what, "eat"))
        for (int block = 0; block < 128; block++) *(volatile char *)malloc((size_t)64 << 20) = 1;
    if (!strcmp(what, "hang")) {
        /* Deaf to every signal that can be blocked, as a call into a wedged driver is. */
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
        for (;;) pause();
    }
    if (!strcmp(what, "print")) {
        printf("this is the library, talking on stdout\n{\"source\": \"nvml\", \"driver\": \"999.99\"}\n");
        fflush(stdout);
        fprintf(stderr, "and on stderr\n");
    }
    if (!strcmp(what, "chatter"))
        for (int line = 0; line < 200000; line++) printf("chatter chatter chatter chatter chatter chatter\n");
    if (!strcmp(what, "stub")) {
        printf("WARNING:\n\nYou should always run with libnvidia-ml.so that is installed with your\n"
               "NVIDIA Display Driver. By default it's installed in /usr/lib and /usr/lib64.\n"
               "This is a stub.\n");
        fflush(stdout);
    }
}

/* Starts a process as daemons start: in a session of its own, and no child of this one. */
__attribute__((unused)) static void leave(const char *key) {
    char path[512];
    int ends[2], left = 0;
    if (!word(key, NULL, path, sizeof path) || pipe(ends)) return;
    if (!fork()) {
        setsid();
        if (fork()) _exit(0);
        left = getpid();
        if (write(ends[1], &left, sizeof left) != sizeof left) _exit(1);
        sleep(120);
        _exit(0);
    }
    wait(NULL);
    FILE *file = read(ends[0], &left, sizeof left) == sizeof left ? fopen(path, "w") : NULL;
    if (!file) return;
    fprintf(file, "%d", left);
    fclose(file);
}

__attribute__((unused)) static int capability_of(const struct gpu *gpu, int *major, int *minor) {
    if (!strcmp(gpu->cc, "untouched")) return 0;
    sscanf(gpu->cc, "%d.%d", major, minor);
    return 0;
}
#endif
