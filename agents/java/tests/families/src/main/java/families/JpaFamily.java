/*
 * Entities of Hibernate in H2, by Spring Data JPA and by JPA itself, in transactions that look for changes of all
 * that they loaded.
 */
package families;

import jakarta.persistence.Column;
import jakarta.persistence.Embeddable;
import jakarta.persistence.Embedded;
import jakarta.persistence.Entity;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.FetchType;
import jakarta.persistence.Id;
import jakarta.persistence.ManyToOne;
import jakarta.persistence.OneToMany;
import jakarta.persistence.PostLoad;
import jakarta.persistence.Table;
import jakarta.persistence.Transient;
import jakarta.validation.constraints.NotNull;
import java.util.List;
import java.util.Map;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcConnectionPool;
import org.hibernate.Session;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ComponentScan;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.FilterType;
import org.springframework.data.jpa.repository.JpaRepository;
import org.springframework.data.jpa.repository.config.EnableJpaRepositories;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.SharedEntityManagerCreator;
import org.springframework.orm.jpa.vendor.HibernateJpaVendorAdapter;
import org.springframework.transaction.support.TransactionTemplate;

final class JpaFamily implements Family {
    @Entity(name = "Operator")
    @Table(name = "OPERATORS")
    static class Operator {
        @Id
        Integer id;
        private String name;
        private String address;
        @OneToMany(mappedBy = "operator")
        List<StationEntity> stations;

        String getName() {
            return name;
        }
    }

    @Entity(name = "Station")
    @Table(name = "STATIONS")
    static class StationEntity {
        @Id
        Integer id;
        String name;
        double latitude;
        double longitude;
        @Column(length = 2000)
        @NotNull
        String description;
        @ManyToOne(fetch = FetchType.LAZY)
        Operator operator;

        String getName() {
            return name;
        }
    }

    /** What it makes of a column as it is loaded has not come over the network. */
    @Entity(name = "TimeTable")
    @Table(name = "TIMETABLES")
    static class TimeTable {
        @Id
        Integer id;
        String line;
        String departures;
        @Transient
        First first;
        @Transient
        String note;

        @PostLoad
        void loaded() {
            first = new First(departures.substring(0, 5));
            note = "made of what was read";
        }
    }

    /** Its properties are its getters. */
    @Entity(name = "Tram")
    @Table(name = "TRAMS")
    static class Tram {
        private Integer id;
        private String model;
        private String title;
        private Operator operator;

        @Id
        public Integer getId() {
            return id;
        }

        public void setId(Integer id) {
            this.id = id;
        }

        public String getModel() {
            return model;
        }

        public void setModel(String model) {
            this.model = model;
        }

        @ManyToOne(fetch = FetchType.LAZY)
        public Operator getOperator() {
            return operator;
        }

        public void setOperator(Operator operator) {
            this.operator = operator;
        }

        @Transient
        public String getTitle() {
            if (title == null) {
                title = "Tram " + model;
            }
            return title;
        }
    }

    /** Its properties are its fields, whatever its getters say. */
    @Entity(name = "Bus")
    @Table(name = "BUSES")
    static class Bus {
        @Id
        Integer id;
        private String model;
        private String title;

        @Transient
        public String getTitle() {
            return title + " " + id;
        }
    }

    @Entity(name = "Depot")
    @Table(name = "DEPOTS")
    static class Depot {
        @Id
        Integer id;
        String name;
        @Embedded
        Address address;
    }

    @Embeddable
    static class Address {
        String street;
        String city;
    }

    static class First {
        final String time;

        First(String time) {
            this.time = time;
        }
    }

    interface StationEntities extends JpaRepository<StationEntity, Integer> {}

    @Configuration
    @EnableJpaRepositories(considerNestedRepositories = true,
            includeFilters = @ComponentScan.Filter(type = FilterType.ASSIGNABLE_TYPE, classes = StationEntities.class))
    static class Database {
        @Bean
        DataSource dataSource() {
            return JdbcConnectionPool.create("jdbc:h2:mem:entities", "", "");
        }

        @Bean
        LocalContainerEntityManagerFactoryBean entityManagerFactory(DataSource source) {
            LocalContainerEntityManagerFactoryBean factory = new LocalContainerEntityManagerFactoryBean();
            factory.setDataSource(source);
            factory.setPackagesToScan("families");
            factory.setJpaVendorAdapter(new HibernateJpaVendorAdapter());
            factory.setJpaPropertyMap(Map.of("hibernate.hbm2ddl.auto", "create"));
            return factory;
        }

        @Bean
        JpaTransactionManager transactionManager(EntityManagerFactory factory) {
            return new JpaTransactionManager(factory);
        }
    }

    private final AnnotationConfigApplicationContext context =
            new AnnotationConfigApplicationContext(Database.class);
    private final StationEntities stations = context.getBean(StationEntities.class);
    private final TransactionTemplate transaction =
            new TransactionTemplate(context.getBean(JpaTransactionManager.class));
    private final EntityManager entities =
            SharedEntityManagerCreator.createSharedEntityManager(context.getBean(EntityManagerFactory.class));

    JpaFamily() {
        transaction.executeWithoutResult(status -> {
            Operator operator = new Operator();
            operator.id = 1;
            operator.name = "Metro";
            operator.address = "Street 1";
            entities.persist(operator);
            TimeTable table = new TimeTable();
            table.id = 1;
            table.line = "10";
            table.departures = "05:30 05:42 05:54";
            entities.persist(table);
            Tram tram = new Tram();
            tram.id = 1;
            tram.model = "Combino";
            entities.persist(tram);
            Bus bus = new Bus();
            bus.id = 1;
            bus.model = "Citaro";
            bus.title = "Bus";
            entities.persist(bus);
            Depot depot = new Depot();
            depot.id = 1;
            depot.name = "North";
            depot.address = new Address();
            depot.address.street = "Street 2";
            depot.address.city = "Shanghai";
            entities.persist(depot);
            for (int id = 0; id < 100; id++) {
                StationEntity station = new StationEntity();
                station.id = id;
                station.name = "Station of " + id;
                station.description = "A station. ".repeat(50);
                station.operator = operator;
                entities.persist(station);
            }
        });
    }

    @Override
    public void ask(int number) {
        transaction.execute(status -> repository(number));
        transaction.execute(status -> list());
        transaction.execute(status -> twice(number));
        transaction.execute(status -> lazily(number));
        transaction.execute(status -> collection());
        transaction.execute(status -> changed(number));
        transaction.execute(status -> made());
        transaction.execute(status -> byGetters());
        transaction.execute(status -> byFields());
        transaction.execute(status -> embedded());
        transaction.execute(status -> several(number));
    }

    private String repository(int number) {
        StationEntity station = stations.findById(number).orElseThrow(); // line: jpa-repository
        return station.getName();
    }

    private double list() {
        return entities.createQuery("select s from Station s where s.id < 10", StationEntity.class)
                .getResultList() // line: jpa-query
                .stream().mapToDouble(station -> station.latitude).sum();
    }

    private String twice(int number) {
        entities.find(StationEntity.class, number); // line: jpa-find
        return entities.find(StationEntity.class, number).getName(); // line: jpa-found
    }

    private String lazily(int number) {
        StationEntity station = entities.find(StationEntity.class, number); // line: jpa-lazy
        return station.operator.getName(); // line: jpa-proxy
    }

    private int collection() {
        Operator operator = entities.find(Operator.class, 1); // line: jpa-operator
        return operator.stations.stream()
                .mapToInt(station -> station.name.length()).sum(); // line: jpa-collection
    }

    private Object changed(int number) {
        StationEntity station = entities.find(StationEntity.class, number); // line: jpa-changed
        station.longitude += 1;
        return null;
    }

    private String made() {
        return entities.find(TimeTable.class, 1).line; // line: jpa-made
    }

    private double several(int number) {
        return entities.unwrap(Session.class).byMultipleIds(StationEntity.class)
                .multiLoad(number, number + 1, number + 2) // line: jpa-several
                .stream().mapToDouble(station -> station.longitude).sum();
    }

    private String byGetters() {
        return entities.find(Tram.class, 1).getTitle(); // line: jpa-getters
    }

    private String byFields() {
        return entities.find(Bus.class, 1).model; // line: jpa-fields
    }

    private String embedded() {
        return entities.find(Depot.class, 1).name; // line: jpa-embedded
    }

    @Override
    public void close() {
        context.close();
    }
}
