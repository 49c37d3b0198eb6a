/*
 * A station, as JSON and documents of MongoDB become one: six fields. It prints itself by its getters.
 */
package families;

import java.util.List;

public class Station {
    private String code;
    private String name;
    private double latitude;
    private double longitude;
    private int platforms;
    private List<String> lines;

    static Station of(int number) {
        Station station = new Station();
        station.code = "S" + number;
        station.name = "Station of " + number;
        station.latitude = 31.25;
        station.longitude = 121.5;
        station.platforms = 1 + number % 9;
        station.lines = List.of("2", "10", "17");
        return station;
    }

    public String getCode() {
        return code;
    }

    public void setCode(String code) {
        this.code = code;
    }

    public String getName() {
        return name;
    }

    public void setName(String name) {
        this.name = name;
    }

    public double getLatitude() {
        return latitude;
    }

    public void setLatitude(double latitude) {
        this.latitude = latitude;
    }

    public double getLongitude() {
        return longitude;
    }

    public void setLongitude(double longitude) {
        this.longitude = longitude;
    }

    public int getPlatforms() {
        return platforms;
    }

    public void setPlatforms(int platforms) {
        this.platforms = platforms;
    }

    public List<String> getLines() {
        return lines;
    }

    public void setLines(List<String> lines) {
        this.lines = lines;
    }

    @Override
    public String toString() {
        return getCode() + " " + getName();
    }
}
