/*
 * The 95 % confidence interval of a share, after Wilson (1927): sound for small samples and for shares near 0 and 1,
 * where the usual normal approximation is not.
 */
package slowpath.transfers;

final class Wilson {
    private static final double Z = 1.959964;

    final double low;
    final double high;

    /**
     * @param share of samples that hit; 0 and 1 where none and all did
     * @param of how many samples, of equal weight; more than 0
     */
    Wilson(double share, double of) {
        double weight = Z * Z / of;
        double center = (share + weight / 2) / (1 + weight);
        double half = Z / (1 + weight) * Math.sqrt(share * (1 - share) / of + weight / (4 * of));
        low = share == 0 ? 0 : Math.max(0, center - half);
        high = share == 1 ? 1 : Math.min(1, center + half);
    }
}
