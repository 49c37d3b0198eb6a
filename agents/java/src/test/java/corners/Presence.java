/*
 * Messages made like those of Protocol Buffers, of which it is only asked whether a field is set, and which member of a
 * oneof; each in a request of its own.
 *   java corners.Presence OBJECTS
 */
package corners;

import com.google.protobuf.GeneratedMessage;
import jakarta.servlet.http.HttpServlet;

public final class Presence {
    static final class Message extends GeneratedMessage {
        private int bitField0_ = 3;
        private int kindCase_ = 4;
        private Object kind_ = "k";
        private int seat_ = 1;
        private int seatCount_ = 2;
        private volatile Object name_ = "n";
        private int nameCase_ = 3;

        boolean hasSeat() {
            return (bitField0_ & 1) != 0;
        }

        boolean hasSeatCount() {
            return (bitField0_ & 2) != 0;
        }

        int getKindCase() {
            return kindCase_;
        }

        /** Of a field of its own, as that of the name is no oneof. */
        int getNameCase() {
            return nameCase_;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Message && hasSeatCount() == ((Message) other).hasSeatCount();
        }

        @Override
        public int hashCode() {
            return seat_ + seatCount_ + kind_.hashCode() + name_.hashCode();
        }
    }

    static volatile Object sink;

    private Presence() {}

    static Message fetch() {
        return new Message();
    }

    private static Object serve() {
        Message message = fetch();
        sink = message.hasSeat();
        sink = message.getKindCase();
        sink = message.getNameCase();
        sink = message.equals(new Message());
        return null;
    }

    public static void main(String[] arguments) throws Exception {
        HttpServlet servlet = new HttpServlet(Presence::serve);
        for (int object = 0; object < Integer.parseInt(arguments[0]); object++) {
            servlet.service(null);
            Thread.sleep(1);
        }
        for (int collection = 0; collection < 2; collection++) {
            System.gc();
            Thread.sleep(300);
        }
    }
}
