/*
 * Rows of H2, by Spring's JdbcTemplate and by Spring Data JDBC.
 */
package families;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcConnectionPool;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ComponentScan;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.FilterType;
import org.springframework.data.annotation.Id;
import org.springframework.data.jdbc.repository.config.AbstractJdbcConfiguration;
import org.springframework.data.jdbc.repository.config.EnableJdbcRepositories;
import org.springframework.data.relational.core.mapping.Table;
import org.springframework.data.repository.CrudRepository;
import org.springframework.jdbc.core.BeanPropertyRowMapper;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.core.ResultSetExtractor;
import org.springframework.jdbc.core.namedparam.NamedParameterJdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;

final class JdbcFamily implements Family {
    @Table("STATIONS")
    static class StationRow {
        @Id
        int id;
        String name;
        double latitude;
        double longitude;
        String operator;

        int getId() {
            return id;
        }

        String getName() {
            return name;
        }
    }

    interface StationRows extends CrudRepository<StationRow, Integer> {}

    @Configuration
    @EnableJdbcRepositories(considerNestedRepositories = true,
            includeFilters = @ComponentScan.Filter(type = FilterType.ASSIGNABLE_TYPE, classes = StationRows.class))
    static class Database extends AbstractJdbcConfiguration {
        @Bean
        DataSource dataSource() {
            return JdbcConnectionPool.create("jdbc:h2:mem:rows", "", "");
        }

        @Bean
        NamedParameterJdbcTemplate jdbcOperations(DataSource source) {
            return new NamedParameterJdbcTemplate(source);
        }

        @Bean
        DataSourceTransactionManager transactionManager(DataSource source) {
            return new DataSourceTransactionManager(source);
        }
    }

    private final AnnotationConfigApplicationContext context =
            new AnnotationConfigApplicationContext(Database.class);
    private final NamedParameterJdbcTemplate named = context.getBean(NamedParameterJdbcTemplate.class);
    private final JdbcTemplate jdbc = named.getJdbcTemplate();
    private final StationRows rows = context.getBean(StationRows.class);

    JdbcFamily() {
        jdbc.execute("CREATE TABLE STATIONS (ID INT PRIMARY KEY, NAME VARCHAR(80), LATITUDE DOUBLE PRECISION,"
                + " LONGITUDE DOUBLE PRECISION, OPERATOR VARCHAR(80))");
        for (int id = 0; id < 100; id++) {
            jdbc.update("INSERT INTO STATIONS VALUES (?, ?, ?, ?, ?)", id, "Station of " + id, 31.25, 121.5, "Metro");
        }
    }

    @Override
    public void ask(int number) {
        mapped(number);
        bean(number);
        byName(number);
        repository(number);
        extracted(number);
    }

    private String mapped(int number) {
        List<StationRow> found = jdbc.query("SELECT * FROM STATIONS WHERE ID < 3 AND ID <> ?", // line: jdbc-template
                (row, count) -> {
                    StationRow station = new StationRow();
                    station.id = row.getInt("ID");
                    station.name = row.getString("NAME");
                    station.latitude = row.getDouble("LATITUDE");
                    station.longitude = row.getDouble("LONGITUDE");
                    station.operator = row.getString("OPERATOR");
                    return station;
                }, number + 50);
        return found.stream().map(StationRow::getName).collect(Collectors.joining());
    }

    private double bean(int number) {
        return jdbc.queryForObject("select s.* from stations s join stations t on s.id = t.id" // line: jdbc-bean
                + " where s.id = " + number, new BeanPropertyRowMapper<>(StationBean.class)).latitude;
    }

    private String byName(int number) {
        return named.query("SELECT * FROM STATIONS WHERE ID = :id", Map.of("id", number), // line: jdbc-named
                new BeanPropertyRowMapper<>(StationBean.class)).get(0).operator;
    }

    private int repository(int number) {
        StationRow station = rows.findById(number).orElseThrow(); // line: jdbc-repository
        return station.getId();
    }

    /** Reads rows before they are returned. */
    private String extracted(int number) {
        Map<Integer, StationRow> found = jdbc.query("SELECT * FROM STATIONS WHERE ID = " + number, // line: jdbc-extractor
                (ResultSetExtractor<Map<Integer, StationRow>>) rows -> {
                    Map<Integer, StationRow> byId = new HashMap<>();
                    while (rows.next()) {
                        StationRow station = new StationRow();
                        station.id = rows.getInt("ID");
                        station.name = rows.getString("NAME");
                        byId.put(station.id, station);
                    }
                    return byId;
                });
        return found.get(number).getName();
    }

    @Override
    public void close() {
        context.close();
    }

    static class StationBean {
        private int id;
        private String name;
        private double latitude;
        private double longitude;
        private String operator;

        public void setId(int id) {
            this.id = id;
        }

        public void setName(String name) {
            this.name = name;
        }

        public void setLatitude(double latitude) {
            this.latitude = latitude;
        }

        public void setLongitude(double longitude) {
            this.longitude = longitude;
        }

        public void setOperator(String operator) {
            this.operator = operator;
        }
    }
}
