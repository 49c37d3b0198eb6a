/* The template of classes that are generated: the number is another one in each deployment. */
package soak.deployed;

final class Generated0000000 implements Valued {
    String value = "v";
    String never = "n";

    @Override
    public Object value() {
        return value;
    }
}
