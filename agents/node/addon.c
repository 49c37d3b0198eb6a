/* JavaScript's way to the events of provider.h: a Node-API add-on whose functions fire one event each, and
 * one that says which are recorded. Knows nothing of HTTP or Redis: lib/ decides what is told and when. An
 * argument of an unexpected type counts as 0 or as no text; nothing throws.
 *
 * A call into the add-on is cheap, each of its arguments is not. So numbers come in an array that both sides
 * see, and what a connection is comes once: it gets a slot of a table, which lib/told.cjs fills again where
 * another connection took it. */
#define NAPI_VERSION 8
#include <node_api.h>
#include <stdlib.h>

#include "provider.h"

enum http_moment { CLIENT_REQUEST, SERVER_RECEIVE, SERVER_RESPONSE, CLIENT_RESPONSE };

/* What stands where in the array of numbers; the same in lib/told.cjs. */
enum {
    MOMENT,
    SLOT,
    CONTEXT,
    CAUSE,
    NUMBER,
    VERSION,
    STATUS,
    BYTES,
    NUMBERS,
    /* Of a Redis command, in place of what only HTTP has. */
    OFFSET = VERSION,
    ARGUMENTS,
};

/* How many connections the table has; a power of two. */
#define SLOTS 1024

/* One for each thread of JavaScript. */
struct environment {
    double *numbers;
    struct end_points connections[SLOTS];
};

/* The arguments of a call, taken one after the other. */
struct arguments {
    napi_env env;
    size_t next;
    napi_value values[7];
    struct environment *environment;
};

static int arguments_of(struct arguments *arguments, napi_env env, napi_callback_info info)
{
    size_t count = sizeof arguments->values / sizeof *arguments->values;
    void *environment;
    arguments->env = env;
    arguments->next = 0;
    /* Those that were not given are undefined. */
    if (napi_get_cb_info(env, info, &count, arguments->values, NULL, &environment) != napi_ok)
        return 0;
    arguments->environment = environment;
    return 1;
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

/* What JavaScript put at a place of the array; 0 where that is no number that an event can hold. */
static uint64_t told(const struct environment *environment, int place)
{
    double number = environment->numbers[place];
    return number >= 0 && number < 0x1p63 ? (uint64_t)number : 0;
}

static struct place place_of(const struct environment *environment)
{
    return (struct place){
        .context = told(environment, CONTEXT),
        .cause = told(environment, CAUSE),
        .number = told(environment, NUMBER),
        .connection = &environment->connections[told(environment, SLOT) % SLOTS],
    };
}

/* connection(slot, id, fd, local address, local port, remote address, remote port): what the slot stands for from now on */
static napi_value connection(napi_env env, napi_callback_info info)
{
    struct arguments arguments;
    if (!arguments_of(&arguments, env, info))
        return NULL;
    struct end_points *connection = &arguments.environment->connections[(uint64_t)number_of(&arguments) % SLOTS];
    connection->id = number_of(&arguments);
    connection->fd = number_of(&arguments);
    text_of(&arguments, connection->local_address, sizeof connection->local_address);
    connection->local_port = number_of(&arguments);
    text_of(&arguments, connection->remote_address, sizeof connection->remote_address);
    connection->remote_port = number_of(&arguments);
    return NULL;
}

/* request(method, path), and the numbers: one begins, at the end that MOMENT says */
static napi_value request(napi_env env, napi_callback_info info)
{
    struct arguments arguments;
    char method[32];
    char path[512];
    if (!arguments_of(&arguments, env, info))
        return NULL;
    text_of(&arguments, method, sizeof method);
    text_of(&arguments, path, sizeof path);
    const struct environment *environment = arguments.environment;
    struct place place = place_of(environment);
    struct http_told http = {.version = told(environment, VERSION), .method = method, .path = path};
    switch (told(environment, MOMENT)) {
    case CLIENT_REQUEST:
        http.sent = told(environment, BYTES);
        lttng_ust_tracepoint(slowpath_node, http_client_request, &place, &http);
        break;
    case SERVER_RECEIVE:
        http.received = told(environment, BYTES);
        lttng_ust_tracepoint(slowpath_node, http_server_receive, &place, &http);
        break;
    }
    return NULL;
}

/* response(), and the numbers */
static napi_value response(napi_env env, napi_callback_info info)
{
    struct arguments arguments;
    if (!arguments_of(&arguments, env, info))
        return NULL;
    const struct environment *environment = arguments.environment;
    struct place place = place_of(environment);
    struct http_told http = {
        .version = told(environment, VERSION),
        .status = told(environment, STATUS),
        .method = "",
        .path = "",
    };
    switch (told(environment, MOMENT)) {
    case SERVER_RESPONSE:
        lttng_ust_tracepoint(slowpath_node, http_server_response, &place, &http);
        break;
    case CLIENT_RESPONSE:
        lttng_ust_tracepoint(slowpath_node, http_client_response, &place, &http);
        break;
    }
    return NULL;
}

/* redis(command), and the numbers */
static napi_value redis(napi_env env, napi_callback_info info)
{
    struct arguments arguments;
    struct redis_told redis;
    if (!arguments_of(&arguments, env, info))
        return NULL;
    struct place place = place_of(arguments.environment);
    redis.offset = told(arguments.environment, OFFSET);
    redis.bytes = told(arguments.environment, BYTES);
    redis.arguments = told(arguments.environment, ARGUMENTS);
    text_of(&arguments, redis.command, sizeof redis.command);
    lttng_ust_tracepoint(slowpath_node, redis_command, &place, &redis);
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

static int add_function(napi_env env, napi_value exports, const char *name, napi_callback code, void *data)
{
    napi_value function;
    return napi_create_function(env, name, NAPI_AUTO_LENGTH, code, data, &function) == napi_ok &&
           napi_set_named_property(env, exports, name, function) == napi_ok;
}

/* The array lives as long as `exports`, which the functions' callers hold. */
static int add_numbers(napi_env env, napi_value exports, struct environment *environment)
{
    napi_value buffer, numbers;
    void *bytes;
    if (napi_create_arraybuffer(env, NUMBERS * sizeof(double), &bytes, &buffer) != napi_ok)
        return 0;
    environment->numbers = bytes;
    return napi_create_typedarray(env, napi_float64_array, NUMBERS, buffer, 0, &numbers) == napi_ok &&
           napi_set_named_property(env, exports, "numbers", numbers) == napi_ok;
}

static void forget(napi_env env, void *environment, void *hint)
{
    (void)env;
    (void)hint;
    free(environment);
}

NAPI_MODULE_INIT()
{
    struct environment *environment = calloc(1, sizeof *environment);
    if (environment == NULL || napi_set_instance_data(env, environment, forget, NULL) != napi_ok) {
        free(environment);
        napi_throw_error(env, NULL, "no memory");
    } else if (!add_numbers(env, exports, environment) ||
               !add_function(env, exports, "connection", connection, environment) ||
               !add_function(env, exports, "request", request, environment) ||
               !add_function(env, exports, "response", response, environment) ||
               !add_function(env, exports, "redis", redis, environment) ||
               !add_function(env, exports, "eventLoopDelay", event_loop_delay, environment) ||
               !add_function(env, exports, "recorded", recorded, environment)) {
        napi_throw_error(env, NULL, "Node-API refused");
    }
    return exports;
}
