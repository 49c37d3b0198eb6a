/*
 * Objects of libraries around what was received: ResponseEntity of Spring.
 */
package slowpath.transfers;

import java.lang.reflect.Method;

final class Wrappers {
    private Wrappers() {}

    /** What the object is there to hold; null: it is no such object, or holds nothing. */
    static Object content(Object object, String className) {
        if (!className.equals("org.springframework.http.ResponseEntity")) {
            return null;
        }
        try {
            Method body = object.getClass().getMethod("getBody");
            return body.invoke(object);
        } catch (ReflectiveOperationException cause) {
            return null;
        }
    }
}
