/*
 * A loader changes a class as it defines it, as those of servers and of persistence do: its file is in a folder, and what
 * loaders tell of it is as it was. A loader below has a class that reads its objects, and runs it.
 *   java isolated.Woven FOLDER-OF-CHANGED FOLDER-OF-CLASSES OBJECTS [first]
 * with `first` where the changed class is loaded before its reader.
 */
package isolated;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

public final class Woven {
    private static final String CHANGED = "elsewhere.data.Item";
    private static final String READER = "elsewhere.web.Reader";

    private Woven() {}

    private static final class Loader extends ClassLoader {
        private final Path folder;
        private final String own;

        Loader(ClassLoader parent, String folder, String own) {
            super(parent);
            this.folder = Path.of(folder);
            this.own = own;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals(own)) {
                return super.loadClass(name, resolve);
            }
            Class<?> loaded = findLoadedClass(name);
            if (loaded != null) {
                return loaded;
            }
            try {
                byte[] file = Files.readAllBytes(folder.resolve(name.replace('.', '/') + ".class"));
                return defineClass(name, file, 0, file.length);
            } catch (IOException cause) {
                throw new ClassNotFoundException(name, cause);
            }
        }
    }

    public static void main(String[] arguments) throws ReflectiveOperationException {
        ClassLoader changing = new Loader(Woven.class.getClassLoader(), arguments[0], CHANGED);
        ClassLoader below = new Loader(changing, arguments[1], READER);
        if (arguments.length > 3) {
            changing.loadClass(CHANGED);
        }
        below.loadClass(READER).getMethod("main", String[].class).invoke(null, (Object) new String[] {arguments[2]});
    }
}
