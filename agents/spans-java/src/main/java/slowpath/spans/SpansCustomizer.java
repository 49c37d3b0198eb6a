/*
 * Where the OpenTelemetry Java agent finds this extension (META-INF/services). Adds our hooks if the
 * native library loads, and otherwise leaves everything as it is.
 */
package slowpath.spans;

import io.opentelemetry.context.ContextStorage;
import io.opentelemetry.sdk.autoconfigure.spi.AutoConfigurationCustomizer;
import io.opentelemetry.sdk.autoconfigure.spi.AutoConfigurationCustomizerProvider;

public final class SpansCustomizer implements AutoConfigurationCustomizerProvider {
    @Override
    public void customize(AutoConfigurationCustomizer customizer) {
        if (NativeLibrary.load()) {
            customizer.addTracerProviderCustomizer(
                    (builder, configuration) -> builder.addSpanProcessor(new EventSpanProcessor()));
            ContextStorage.addWrapper(EventContextStorage::new);
        }
    }
}
