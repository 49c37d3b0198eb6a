/* JavaScript's way to the events of provider.h: a Node-API add-on whose functions fire one event each, and
 * one that says which are recorded. Knows nothing of HTTP or Redis: lib/ decides what is told and when. An
 * argument of an unexpected type counts as 0 or as no text; nothing throws. */
#define NAPI_VERSION 8
#include <node_api.h>

#include "provider.h"

enum http_moment { CLIENT_REQUEST, SERVER_RECEIVE, SERVER_RESPONSE, CLIENT_RESPONSE };

/* The arguments of a call, taken one after the other. */
struct arguments {
    napi_env env;
    size_t next;
    napi_value values[20];
};

static int arguments_of(struct arguments *arguments, napi_env env, napi_callback_info info)
{
    size_t count = sizeof arguments->values / sizeof *arguments->values;
    arguments->env = env;
    arguments->next = 0;
    /* Those that were not given are undefined. */
    return napi_get_cb_info(env, info, &count, arguments->values, NULL, NULL) == napi_ok;
}

static int64_t number_of(struct arguments *arguments)
{
    int64_t number = 0;
    if (napi_get_value_int64(arguments->env, arguments->values[arguments->next++], &number) != napi_ok)
        return 0;
    return number;
}

static void text_of(struct arguments *arguments, char *text, size_t size)
{
    size_t length;
    if (napi_get_value_string_utf8(arguments->env, arguments->values[arguments->next++], text, size,
                                   &length) != napi_ok)
        text[0] = 0;
}

static void place_of(struct arguments *arguments, struct place *place)
{
    place->context = number_of(arguments);
    place->cause = number_of(arguments);
    place->connection = number_of(arguments);
    place->number = number_of(arguments);
    place->fd = number_of(arguments);
    text_of(arguments, place->local_address, sizeof place->local_address);
    place->local_port = number_of(arguments);
    text_of(arguments, place->remote_address, sizeof place->remote_address);
    place->remote_port = number_of(arguments);
}

/* http(moment, …place, version, status, sent, received, method, path) */
static napi_value http(napi_env env, napi_callback_info info)
{
    struct arguments arguments;
    struct place place;
    struct http_told told;
    if (!arguments_of(&arguments, env, info))
        return NULL;
    int64_t moment = number_of(&arguments);
    place_of(&arguments, &place);
    told.version = number_of(&arguments);
    told.status = number_of(&arguments);
    told.sent = number_of(&arguments);
    told.received = number_of(&arguments);
    text_of(&arguments, told.method, sizeof told.method);
    text_of(&arguments, told.path, sizeof told.path);
    switch (moment) {
    case CLIENT_REQUEST:
        lttng_ust_tracepoint(slowpath_node, http_client_request, &place, &told);
        break;
    case SERVER_RECEIVE:
        lttng_ust_tracepoint(slowpath_node, http_server_receive, &place, &told);
        break;
    case SERVER_RESPONSE:
        lttng_ust_tracepoint(slowpath_node, http_server_response, &place, &told);
        break;
    case CLIENT_RESPONSE:
        lttng_ust_tracepoint(slowpath_node, http_client_response, &place, &told);
        break;
    }
    return NULL;
}

/* redis(…place, offset, bytes, arguments, command) */
static napi_value redis(napi_env env, napi_callback_info info)
{
    struct arguments arguments;
    struct place place;
    struct redis_told told;
    if (!arguments_of(&arguments, env, info))
        return NULL;
    place_of(&arguments, &place);
    told.offset = number_of(&arguments);
    told.bytes = number_of(&arguments);
    told.arguments = number_of(&arguments);
    text_of(&arguments, told.command, sizeof told.command);
    lttng_ust_tracepoint(slowpath_node, redis_command, &place, &told);
    return NULL;
}

/* eventLoopDelay(asked, delay, active), in nanoseconds */
static napi_value event_loop_delay(napi_env env, napi_callback_info info)
{
    struct arguments arguments;
    if (!arguments_of(&arguments, env, info))
        return NULL;
    uint64_t asked_ns = number_of(&arguments);
    uint64_t delay_ns = number_of(&arguments);
    uint64_t active_ns = number_of(&arguments);
    lttng_ust_tracepoint(slowpath_node, event_loop_delay, asked_ns, delay_ns, active_ns);
    return NULL;
}

/* recorded(): 0 where no session records any of the events; 1: requests or commands; 2: the delay of the
 * event loop; 3: both. */
static napi_value recorded(napi_env env, napi_callback_info info)
{
    (void)info;
    napi_value answer = NULL;
    int work = lttng_ust_tracepoint_enabled(slowpath_node, http_client_request) ||
               lttng_ust_tracepoint_enabled(slowpath_node, http_server_receive) ||
               lttng_ust_tracepoint_enabled(slowpath_node, http_server_response) ||
               lttng_ust_tracepoint_enabled(slowpath_node, http_client_response) ||
               lttng_ust_tracepoint_enabled(slowpath_node, redis_command);
    int delay = lttng_ust_tracepoint_enabled(slowpath_node, event_loop_delay) != 0;
    napi_create_int32(env, work | delay << 1, &answer);
    return answer;
}

static int add_function(napi_env env, napi_value exports, const char *name, napi_callback code)
{
    napi_value function;
    return napi_create_function(env, name, NAPI_AUTO_LENGTH, code, NULL, &function) == napi_ok &&
           napi_set_named_property(env, exports, name, function) == napi_ok;
}

NAPI_MODULE_INIT()
{
    if (!add_function(env, exports, "http", http) || !add_function(env, exports, "redis", redis) ||
        !add_function(env, exports, "eventLoopDelay", event_loop_delay) ||
        !add_function(env, exports, "recorded", recorded))
        napi_throw_error(env, NULL, "Node-API refused");
    return exports;
}
