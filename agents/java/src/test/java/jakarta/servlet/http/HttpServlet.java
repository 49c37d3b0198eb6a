/* Stands for the servlets' base class of that name, where a request begins. */
package jakarta.servlet.http;

import java.util.concurrent.Callable;

public final class HttpServlet {
    private final Callable<Object> application;

    public HttpServlet(Callable<Object> application) {
        this.application = application;
    }

    public Object service() throws Exception {
        return application.call();
    }
}
