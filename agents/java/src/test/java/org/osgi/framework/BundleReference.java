/* Stands for the interface of that name, which the loaders of OSGi's bundles have. */
package org.osgi.framework;

public interface BundleReference {}
