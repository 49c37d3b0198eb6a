/*
 * JSON as libraries keep it, and how long its text is: a line each. The last have objects of the program inside that must not
 * be asked for what they have, each of which counts as `{}`.
 *   java families.Trees
 */
package families;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.google.gson.JsonParser;
import java.util.ArrayList;
import java.util.List;

public final class Trees {
    private static final String TEXT = "{\"name\":\"Wien\",\"tracks\":[1,22,-3.5,1e100,12345678901234567890],\"open\":true,"
            + "\"closed\":null,\"place\":{\"x\":{\"y\":[[],{},\"z\"]}}}";
    private static final int OWN = 1000;

    private Trees() {}

    public static final class Own {
        public int getNumber() {
            throw new IllegalStateException("not in a transaction");
        }

        @Override
        public String toString() {
            throw new IllegalStateException("not in a transaction");
        }
    }

    public static List<Object> trees() throws Exception {
        ObjectMapper jackson = new ObjectMapper();
        List<Object> trees = new ArrayList<>(List.of(jackson.readTree(TEXT),
                JsonParser.parseString(TEXT),
                jackson.createObjectNode().put("bytes", new byte[100]), jackson.createArrayNode().addNull()));
        try {
            Class<?> jackson3 = Class.forName("tools.jackson.databind.ObjectMapper");
            trees.add(jackson3.getMethod("readTree", String.class).invoke(
                    jackson3.getConstructor().newInstance(), TEXT));
        } catch (ClassNotFoundException cause) {
            // An earlier Spring Boot has none.
        }
        ArrayNode own = jackson.createArrayNode();
        for (int number = 0; number < OWN; number++) {
            own.addPOJO(new Own());
        }
        trees.add(own);
        return trees;
    }

    public static void main(String[] arguments) throws Exception {
        List<Object> trees = trees();
        for (Object tree : trees.subList(0, trees.size() - 1)) {
            System.out.println(tree.toString().length());
        }
        System.out.println(1 + OWN * 3);
    }
}
