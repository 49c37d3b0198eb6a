/*
 * A ticket, as the one service sends it and the other reads it: twelve fields with those of Entity. It prints
 * itself and compares itself by its getters, as Lombok has it.
 */
package shop;

import java.util.Objects;

public class Ticket extends Entity {
    private String trainNumber;
    private String departure;
    private String destination;
    private long departsAt;
    private long arrivesAt;
    private int seat;
    private String seatClass;
    private double price;
    private String passenger;
    private boolean refundable;

    public String getTrainNumber() {
        return trainNumber;
    }

    public void setTrainNumber(String trainNumber) {
        this.trainNumber = trainNumber;
    }

    public String getDeparture() {
        return departure;
    }

    public void setDeparture(String departure) {
        this.departure = departure;
    }

    public String getDestination() {
        return destination;
    }

    public void setDestination(String destination) {
        this.destination = destination;
    }

    public long getDepartsAt() {
        return departsAt;
    }

    public void setDepartsAt(long departsAt) {
        this.departsAt = departsAt;
    }

    public long getArrivesAt() {
        return arrivesAt;
    }

    public void setArrivesAt(long arrivesAt) {
        this.arrivesAt = arrivesAt;
    }

    public int getSeat() {
        return seat;
    }

    public void setSeat(int seat) {
        this.seat = seat;
    }

    public String getSeatClass() {
        return seatClass;
    }

    public void setSeatClass(String seatClass) {
        this.seatClass = seatClass;
    }

    public double getPrice() {
        return price;
    }

    public void setPrice(double price) {
        this.price = price;
    }

    public String getPassenger() {
        return passenger;
    }

    public void setPassenger(String passenger) {
        this.passenger = passenger;
    }

    public boolean isRefundable() {
        return refundable;
    }

    public void setRefundable(boolean refundable) {
        this.refundable = refundable;
    }

    @Override
    public String toString() {
        return "Ticket(id=" + getId()
                + ", version=" + getVersion()
                + ", trainNumber=" + getTrainNumber()
                + ", departure=" + getDeparture()
                + ", destination=" + getDestination()
                + ", departsAt=" + getDepartsAt()
                + ", arrivesAt=" + getArrivesAt()
                + ", seat=" + getSeat()
                + ", seatClass=" + getSeatClass()
                + ", price=" + getPrice()
                + ", passenger=" + getPassenger()
                + ", refundable=" + isRefundable() + ")";
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Ticket && getId().equals(((Ticket) other).getId());
    }

    @Override
    public int hashCode() {
        return Objects.hash(getId());
    }
}
