/* Node's way to libslowpath_spans: a Node-API add-on that loads the library when told where it is and
 * passes on calls. Arguments travel in one small shared array, because that is three times as fast as
 * passing six numbers. Knows nothing of OpenTelemetry; one instance for each thread of JavaScript. */
#include <dlfcn.h>
#include <stdint.h>

#define NAPI_VERSION 8
#include <node_api.h>

#include "slowpath_spans.h"

typedef void (*span_call)(uint64_t trace_id_high, uint64_t trace_id_low, uint64_t span_id);

static span_call span_start, span_end, span_follow;
static const volatile int *(*span_switch)(int event);

/* The ids of the next call: three halves of 64 bits, as eight hexadecimal digits each. */
struct ids {
    uint32_t words[6];
};

static uint64_t word_pair(const struct ids *ids, int first)
{
    return (uint64_t)ids->words[first] << 32 | ids->words[first + 1];
}

static napi_value call_with(napi_env env, span_call call)
{
    struct ids *ids;
    if (call && napi_get_instance_data(env, (void **)&ids) == napi_ok && ids)
        call(word_pair(ids, 0), word_pair(ids, 2), word_pair(ids, 4));
    return NULL;
}

static napi_value start(napi_env env, napi_callback_info info)
{
    (void)info;
    return call_with(env, span_start);
}

static napi_value end(napi_env env, napi_callback_info info)
{
    (void)info;
    return call_with(env, span_end);
}

static napi_value follow(napi_env env, napi_callback_info info)
{
    (void)info;
    return call_with(env, span_follow);
}

/* switches(): the four words that say whether an event is recorded, each as an array of one number
 * that shows LTTng's own memory. Where an engine forbids that (Electron does): undefined. */
static napi_value switches(napi_env env, napi_callback_info info)
{
    (void)info;
    napi_value all;
    if (!span_switch || napi_create_array_with_length(env, 4, &all) != napi_ok)
        return NULL;
    for (int event = SLOWPATH_SPAN_START; event <= SLOWPATH_SPAN_DETACH; event++) {
        napi_value buffer, word;
        if (napi_create_external_arraybuffer(env, (void *)span_switch(event), sizeof(int), NULL, NULL,
                                             &buffer) != napi_ok ||
            napi_create_typedarray(env, napi_int32_array, 1, buffer, 0, &word) != napi_ok ||
            napi_set_element(env, all, event, word) != napi_ok)
            return NULL;
    }
    return all;
}

/* load(path): undefined where it worked, else the reason as text. */
static napi_value load(napi_env env, napi_callback_info info)
{
    size_t count = 1;
    napi_value argument, reason = NULL;
    char path[4096];
    size_t length;
    if (napi_get_cb_info(env, info, &count, &argument, NULL, NULL) != napi_ok || count != 1 ||
        napi_get_value_string_utf8(env, argument, path, sizeof path, &length) != napi_ok)
        return NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        napi_create_string_utf8(env, dlerror(), NAPI_AUTO_LENGTH, &reason);
        return reason;
    }
    span_start = (span_call)dlsym(library, "slowpath_span_start");
    span_end = (span_call)dlsym(library, "slowpath_span_end");
    span_follow = (span_call)dlsym(library, "slowpath_span_follow");
    span_switch = (const volatile int *(*)(int))dlsym(library, "slowpath_span_switch");
    if (!span_start || !span_end || !span_follow || !span_switch) {
        span_switch = NULL;
        napi_create_string_utf8(env, "it is of another version", NAPI_AUTO_LENGTH, &reason);
    }
    return reason;
}

/* The ids live in memory of Node's, which `exports.ids` shows to JavaScript; a reference keeps them. */
static int share_ids(napi_env env, napi_value exports)
{
    napi_value buffer, array;
    napi_ref keep;
    void *memory;
    return napi_create_arraybuffer(env, sizeof(struct ids), &memory, &buffer) == napi_ok &&
           napi_create_reference(env, buffer, 1, &keep) == napi_ok &&
           napi_set_instance_data(env, memory, NULL, NULL) == napi_ok &&
           napi_create_typedarray(env, napi_uint32_array, 6, buffer, 0, &array) == napi_ok &&
           napi_set_named_property(env, exports, "ids", array) == napi_ok;
}

static int add_function(napi_env env, napi_value exports, const char *name, napi_callback code)
{
    napi_value function;
    return napi_create_function(env, name, NAPI_AUTO_LENGTH, code, NULL, &function) == napi_ok &&
           napi_set_named_property(env, exports, name, function) == napi_ok;
}

NAPI_MODULE_INIT()
{
    if (!share_ids(env, exports) || !add_function(env, exports, "load", load) ||
        !add_function(env, exports, "start", start) || !add_function(env, exports, "end", end) ||
        !add_function(env, exports, "follow", follow) || !add_function(env, exports, "switches", switches))
        napi_throw_error(env, NULL, "slowpath: Node-API refused");
    return exports;
}
