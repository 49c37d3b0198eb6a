/*
 * A platform: public fields, which JSON libraries read by reflection.
 */
package shop;

public class Platform {
    public int number;
    public String station;
    public boolean covered;
}
