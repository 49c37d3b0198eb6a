/*
 * Documents of MongoDB as objects, by the codec of its driver and by Spring Data; the server is one in Java that speaks its protocol.
 */
package families;

import com.mongodb.MongoClientSettings;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.MongoCursor;
import com.mongodb.client.model.Aggregates;
import com.mongodb.client.model.Filters;
import com.mongodb.client.model.Updates;
import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import java.util.ArrayList;
import java.util.List;
import org.bson.codecs.configuration.CodecRegistries;
import org.bson.codecs.pojo.PojoCodecProvider;
import org.springframework.data.mongodb.core.MongoTemplate;
import org.springframework.data.mongodb.core.aggregation.Aggregation;
import org.springframework.data.mongodb.core.mapping.Document;
import org.springframework.data.mongodb.core.query.Criteria;
import org.springframework.data.mongodb.core.query.Query;
import org.springframework.data.mongodb.repository.MongoRepository;
import org.springframework.data.mongodb.repository.support.MongoRepositoryFactory;

final class MongoFamily implements Family {
    @Document("stations")
    static class StationDocument {
        String code;
        String name;
        double latitude;
        double longitude;
        int platforms;
        List<String> lines;
    }

    interface StationDocuments extends MongoRepository<StationDocument, String> {
        List<StationDocument> findByCode(String code);
    }

    private final MongoServer server = new MongoServer(new MemoryBackend());
    private final MongoClient client = MongoClients.create(server.bindAndGetConnectionString());
    private final MongoCollection<Station> stations = client.getDatabase("shop")
            .withCodecRegistry(CodecRegistries.fromRegistries(
                    MongoClientSettings.getDefaultCodecRegistry(),
                    CodecRegistries.fromProviders(PojoCodecProvider.builder().automatic(true).build())))
            .getCollection("stations", Station.class);

    private final MongoTemplate template = new MongoTemplate(client, "shop");
    private final StationDocuments documents =
            new MongoRepositoryFactory(template).getRepository(StationDocuments.class);

    MongoFamily() {
        for (int number = 0; number < 10; number++) {
            stations.insertOne(Station.of(number));
        }
    }

    @Override
    public void ask(int number) {
        first(number);
        all();
        aggregate();
        changed(number);
        template(number);
        repository(number);
        aggregated();
    }

    private String first(int number) {
        Station station = stations.find(Filters.eq("code", "S" + number % 10)).first(); // line: mongodb
        return station.getName();
    }

    private int all() {
        int platforms = 0;
        try (MongoCursor<Station> cursor = stations.find().batchSize(4).iterator()) {
            while (cursor.hasNext()) {
                platforms += cursor.next().getPlatforms(); // line: mongodb-next
            }
        }
        return platforms;
    }

    private double aggregate() {
        List<Station> found = stations.aggregate(List.of(Aggregates.match(Filters.gt("platforms", 3))))
                .into(new ArrayList<>()); // line: mongodb-aggregate
        return found.stream().mapToDouble(Station::getLongitude).sum();
    }

    private double changed(int number) {
        return stations.findOneAndUpdate(Filters.eq("code", "S" + number % 10), // line: mongodb-changed
                Updates.inc("longitude", 0.25)).getLatitude();
    }

    private String template(int number) {
        Query query = Query.query(Criteria.where("code").is("S" + number % 10));
        return template.findOne(query, StationDocument.class).name; // line: mongo-template
    }

    private int repository(int number) {
        List<StationDocument> found = documents.findByCode("S" + number % 10); // line: mongo-repository
        return found.get(0).lines.size();
    }

    private String aggregated() {
        return template.aggregate(Aggregation.newAggregation( // line: mongo-aggregation
                Aggregation.match(Criteria.where("platforms").is(3))), "stations", StationDocument.class)
                .getMappedResults().get(0).code;
    }

    @Override
    public void close() {
        client.close();
        server.shutdownNow();
    }
}
