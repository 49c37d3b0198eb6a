/* Stands for Hibernate's interface of that name, which classes implement that it generates. */
package org.hibernate.bytecode.spi;

public interface ReflectionOptimizer {
    interface AccessOptimizer {
        Object[] getPropertyValues(Object entity);
    }
}
