/* Stands for the servlets' interface of that name. */
package jakarta.servlet;

public interface ServletRequest {
    boolean isAsyncStarted();
}
