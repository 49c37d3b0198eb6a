/*
 * A station: a record, which prints itself without bytecode of its own.
 */
package shop;

public record Station(String code, String name, double latitude, double longitude) {}
