/* What Server knows of a class whose name it does not know. */
package soak.deployed;

interface Valued {
    Object value();
}
