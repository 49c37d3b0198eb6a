/* Stands for the servlets' base class of that name, where a request begins. */
package jakarta.servlet.http;

import jakarta.servlet.ServletRequest;
import java.util.concurrent.Callable;

public final class HttpServlet {
    private final Callable<Object> application;

    public HttpServlet(Callable<Object> application) {
        this.application = application;
    }

    public Object service() throws Exception {
        return application.call();
    }

    public Object service(ServletRequest request) throws Exception {
        return application.call();
    }
}
