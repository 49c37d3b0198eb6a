// Package native calls libslowpath_spans, which fires the LTTng-UST events of provider slowpath_span. The
// library is loaded while the program runs, so that programs build without LTTng and run without it.
// It knows nothing of OpenTelemetry, and imports nothing but the standard library:
// instrument.sh copies this package into OpenTelemetry's own module.
package native

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

typedef void slowpath_span_call(uint64_t, uint64_t, uint64_t);

static slowpath_span_call *slowpath_start, *slowpath_end;
static const volatile int *slowpath_switches[2];

// Loads the library and finds its calls; the cause where that fails, else NULL.
static const char *slowpath_load(const char *library)
{
    void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!loaded)
        return dlerror();
    slowpath_span_call *start = (slowpath_span_call *)dlsym(loaded, "slowpath_span_start");
    slowpath_span_call *end = (slowpath_span_call *)dlsym(loaded, "slowpath_span_end");
    const volatile int *(*switch_of)(int) = (const volatile int *(*)(int))dlsym(loaded, "slowpath_span_switch");
    if (!start || !end || !switch_of)
        return "it is not a libslowpath_spans of this version";
    slowpath_start = start;
    slowpath_end = end;
    slowpath_switches[0] = switch_of(0);
    slowpath_switches[1] = switch_of(1);
    return NULL;
}

static void slowpath_call_start(uint64_t high, uint64_t low, uint64_t span) { slowpath_start(high, low, span); }
static void slowpath_call_end(uint64_t high, uint64_t low, uint64_t span) { slowpath_end(high, low, span); }
static int32_t *slowpath_switch(int event) { return (int32_t *)slowpath_switches[event]; }
*/
import "C"

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"
)

// The switches of the events: words of the library that LTTng sets while a session records them. Until
// the library is loaded, and where it cannot be, a word that stays zero.
var (
	never       int32
	startSwitch = &never
	endSwitch   = &never
	loadOnce    sync.Once
)

// Load finds the library by SLOWPATH_SPANS_LIBRARY, or else by its name where the dynamic linker looks.
// Where it cannot be loaded the program goes on without events, and one line on stderr says so.
// It must have returned before Start and End are called; later calls do nothing.
func Load() {
	loadOnce.Do(func() {
		library := os.Getenv("SLOWPATH_SPANS_LIBRARY")
		if library == "" {
			library = "libslowpath_spans.so"
		}
		name := C.CString(library)
		defer C.free(unsafe.Pointer(name))
		if cause := C.slowpath_load(name); cause != nil {
			fmt.Fprintf(os.Stderr, "slowpath: no span events from this program: %s (hint: install liblttng-ust, and name libslowpath_spans.so by SLOWPATH_SPANS_LIBRARY)\n", C.GoString(cause))
			return
		}
		startSwitch = (*int32)(unsafe.Pointer(C.slowpath_switch(0)))
		endSwitch = (*int32)(unsafe.Pointer(C.slowpath_switch(1)))
	})
}

// StartRecorded says whether a session records starts of spans: a load and a branch.
func StartRecorded() bool { return atomic.LoadInt32(startSwitch) != 0 }

// EndRecorded says whether a session records ends of spans.
func EndRecorded() bool { return atomic.LoadInt32(endSwitch) != 0 }

// Start fires start_span on the thread that the goroutine runs on. Only after StartRecorded said yes.
func Start(traceID [16]byte, spanID [8]byte) {
	C.slowpath_call_start(C.uint64_t(binary.BigEndian.Uint64(traceID[:8])), C.uint64_t(binary.BigEndian.Uint64(traceID[8:])), C.uint64_t(binary.BigEndian.Uint64(spanID[:])))
}

// End fires end_span likewise. Only after EndRecorded said yes.
func End(traceID [16]byte, spanID [8]byte) {
	C.slowpath_call_end(C.uint64_t(binary.BigEndian.Uint64(traceID[:8])), C.uint64_t(binary.BigEndian.Uint64(traceID[8:])), C.uint64_t(binary.BigEndian.Uint64(spanID[:])))
}
