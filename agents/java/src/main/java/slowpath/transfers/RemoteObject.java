/*
 * For clients that the agent does not know: what the annotated method returns came over the network. The same
 * can be said without touching the program, by the agent's option `remote`.
 */
package slowpath.transfers;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

@Retention(RetentionPolicy.CLASS)
@Target(ElementType.METHOD)
public @interface RemoteObject {
    /** Where it comes from, for the report; by default the method's name. */
    String value() default "";
}
