// The map of services as a picture: boxes with what came to a service, lines with the calls between two. A box
// leads to the service's requests; tables beside it (service-tables.tsx) have the same in words.
import { useMemo, useRef, useState } from 'react';
import { layoutServiceMap } from '../../draw/service-map';
import type { ServiceCall, ServiceMap as MapOfServices, ServiceOfMap } from '../../model/interface';
import { addressOf } from '../../model/place-store';
import { wordCount, wordDuration, wordShare } from '../../model/wording';
import { useElementSize } from '../../parts/element-size';
import { SaveButtons } from '../../parts/save-buttons';
import { saveSvgOf } from '../../parts/save-element';
import { Facts, Tooltip } from '../../parts/tooltip';

/** More boxes than anybody reads. */
const MOST_SERVICES = 60;
/** With more calls, numbers on their lines would cover each other. */
const MOST_LABELS = 24;
const NAME_LETTERS = 24;

interface ServiceMapProps {
  map: MapOfServices;
}

type Hover = { title: string; served: ServiceOfMap | ServiceCall; x: number; y: number };

export function ServiceMap({ map }: ServiceMapProps) {
  const element = useRef<HTMLDivElement>(null);
  const { width } = useElementSize(element);
  const [hover, setHover] = useState<Hover | null>(null);
  const services = useMemo(() => map.services.slice(0, MOST_SERVICES), [map]);
  const layout = useMemo(
    () =>
      layoutServiceMap(
        services.map(({ service }) => service),
        map.calls,
        width,
      ),
    [services, map, width],
  );
  const told = (title: string, served: ServiceOfMap | ServiceCall) => ({
    onMouseMove: (event: React.MouseEvent) => setHover({ title, served, x: event.clientX, y: event.clientY }),
    onMouseLeave: () => setHover(null),
  });
  return (
    <>
      <div className="service-map-scroll" ref={element}>
        {width > 0 && (
          <svg
            className="service-map"
            width={layout.width}
            height={layout.height}
            role="group"
            aria-label="Map of services; the tables have the same in words"
          >
            {layout.edges.map(({ call, path, head }) => (
              <g
                key={`${call.caller} ${call.callee}`}
                className="service-call"
                {...told(`${call.caller} → ${call.callee}`, call)}
              >
                <path className="service-call-reach" d={path} />
                <path className="service-call-line" d={path} strokeWidth={1.5 + 7 * call.critical_share} />
                <path className="service-call-head" d={head} />
              </g>
            ))}
            {layout.nodes.map((node, index) => (
              <ServiceBox
                key={node.name}
                node={node}
                service={services[index]!}
                {...told(node.name, services[index]!)}
              />
            ))}
            {layout.edges.length <= MOST_LABELS &&
              layout.edges.map(({ call, x, y }) => (
                <text
                  key={`${call.caller} ${call.callee}`}
                  className="service-call-label"
                  x={x}
                  y={y - 7 - 3.5 * call.critical_share}
                  textAnchor="middle"
                >
                  {wordCount(call.count)} · p99 {wordDuration(call.p99)}
                </text>
              ))}
          </svg>
        )}
      </div>
      <div className="graph-bar">
        <span className="muted">
          Wide lines, long bars: much of the requests’ critical paths
          {map.services.length > services.length &&
            `; the ${services.length} of ${map.services.length} services with most of it`}
        </span>
        <span className="spacer" />
        <SaveButtons what="the map" savers={{ svg: () => saveSvgOf(element.current, 'service-map') }} />
      </div>
      {hover && (
        <Tooltip x={hover.x} y={hover.y}>
          <p className="tooltip-title">{hover.title}</p>
          <Facts
            facts={[
              ['Calls', wordCount(hover.served.count)],
              ['Failed', wordCount(hover.served.errors)],
              ['Mean', wordDuration(hover.served.mean)],
              ['p50, p99', `${wordDuration(hover.served.p50)}, ${wordDuration(hover.served.p99)}`],
              ['Longest', wordDuration(hover.served.max)],
              ['Of critical paths', wordShare(hover.served.critical_share)],
            ]}
          />
        </Tooltip>
      )}
    </>
  );
}

interface ServiceBoxProps {
  node: { name: string; x: number; y: number; width: number; height: number };
  service: ServiceOfMap;
  onMouseMove: (event: React.MouseEvent) => void;
  onMouseLeave: () => void;
}

function ServiceBox({ node, service, ...mouse }: ServiceBoxProps) {
  const { name, x, y, width, height } = node;
  const shortName = name.length > NAME_LETTERS ? `${name.slice(0, NAME_LETTERS - 1)}…` : name;
  const room = width - 24;
  return (
    <a
      className="service-box"
      href={addressOf({ view: 'requests', request: null, filters: { service: name } })}
      {...mouse}
    >
      <rect className="service-box-frame" x={x} y={y} width={width} height={height} rx={6} />
      <text className="service-box-name" x={x + 12} y={y + 20}>
        {shortName}
      </text>
      <text className="service-box-facts" x={x + 12} y={y + 37}>
        {wordCount(service.count)} · {wordDuration(service.mean)} · p99 {wordDuration(service.p99)}
      </text>
      {service.errors > 0 && (
        <text className="service-box-failed" x={x + width - 12} y={y + 20} textAnchor="end">
          {wordShare(service.errors / Math.max(1, service.count))} failed
        </text>
      )}
      <rect className="service-box-room" x={x + 12} y={y + height - 13} width={room} height={4} rx={2} />
      <rect
        className="service-box-critical"
        x={x + 12}
        y={y + height - 13}
        width={Math.max(service.critical_share > 0 ? 1 : 0, room * Math.min(1, service.critical_share))}
        height={4}
        rx={2}
      />
    </a>
  );
}
