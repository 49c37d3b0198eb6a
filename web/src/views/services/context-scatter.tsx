// Exclusive against inclusive time of every calling context, both as shares of the largest: the plot behind
// the ranking. ECharts draws; its own tooltip writes styles that the page's security policy forbids, so the
// application's is used.
import { useEffect, useRef, useState } from 'react';
import { ScatterChart } from 'echarts/charts';
import { GridComponent } from 'echarts/components';
import { init, use as register, type ECharts } from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';
import { cssColour, identityColour, textIdentity } from '../../draw/colours';
import type { CallingContext } from '../../model/interface';
import { useElementSize } from '../../parts/element-size';
import { SaveButtons } from '../../parts/save-buttons';
import { saveCanvasesOf } from '../../parts/save-element';
import { styleColour, useTheme } from '../../parts/theme';
import { Tooltip } from '../../parts/tooltip';
import { ContextFacts } from './context-icicle';
import { keyOfContext, partsOfCall } from './services';

register([ScatterChart, GridComponent, CanvasRenderer]);

interface ContextScatterProps {
  contexts: readonly CallingContext[];
  selected: string | null;
  onSelect: (key: string | null) => void;
}

export function ContextScatter({ contexts, selected, onSelect }: ContextScatterProps) {
  const element = useRef<HTMLDivElement>(null);
  const chart = useRef<ECharts | null>(null);
  const theme = useTheme();
  const { width, height } = useElementSize(element);
  const [hover, setHover] = useState<{ context: CallingContext; x: number; y: number } | null>(null);
  const latest = useRef({ contexts, onSelect, selected });
  latest.current = { contexts, onSelect, selected };

  useEffect(() => {
    const made = init(element.current!, null, { renderer: 'canvas' });
    chart.current = made;
    made.on('mouseover', (event) => {
      const context = latest.current.contexts[event.dataIndex];
      const native = event.event?.event as unknown as MouseEvent | undefined;
      if (context && native) setHover({ context, x: native.clientX, y: native.clientY });
    });
    made.on('mouseout', () => setHover(null));
    made.on('click', (event) => {
      const context = latest.current.contexts[event.dataIndex];
      if (!context) return;
      const key = keyOfContext(context);
      latest.current.onSelect(key === latest.current.selected ? null : key);
    });
    return () => {
      made.dispose();
      chart.current = null;
    };
  }, []);

  useEffect(() => {
    const made = chart.current;
    if (!made || width < 10 || height < 10) return;
    made.resize({ width, height });
    const axis = {
      type: 'value' as const,
      min: 0,
      max: 1,
      nameLocation: 'middle' as const,
      nameTextStyle: { color: styleColour('--muted') },
      axisLine: { lineStyle: { color: styleColour('--line-strong') } },
      axisLabel: { color: styleColour('--muted') },
      splitLine: { lineStyle: { color: styleColour('--line') } },
    };
    made.setOption({
      animation: false,
      grid: { left: 46, right: 16, top: 12, bottom: 40 },
      xAxis: { ...axis, name: 'inclusive (of the largest)', nameGap: 24 },
      yAxis: { ...axis, name: 'exclusive (of the largest)', nameGap: 32 },
      series: [
        {
          type: 'scatter',
          data: contexts.map((context) => {
            const isSelected = keyOfContext(context) === selected;
            const { service } = partsOfCall(context.path[context.path.length - 1] ?? '');
            return {
              value: [context.inclusive_normalized, context.exclusive_normalized],
              symbolSize: isSelected ? 17 : 11,
              itemStyle: {
                color: cssColour(identityColour(theme, textIdentity(service))),
                opacity: selected === null || isSelected ? 0.9 : 0.4,
                borderColor: isSelected ? styleColour('--text') : styleColour('--panel'),
                borderWidth: isSelected ? 2 : 1,
              },
            };
          }),
        },
      ],
    });
  }, [contexts, selected, theme, width, height]);

  return (
    <>
      <div
        ref={element}
        className="scatter"
        role="img"
        aria-label="Exclusive against inclusive time of calling contexts; the ranking table has the same in words"
      />
      <SaveButtons
        what="the plot"
        savers={{ png: () => saveCanvasesOf(element.current, 'exclusive-and-inclusive-time') }}
      />
      {hover && (
        <Tooltip x={hover.x} y={hover.y}>
          <p className="tooltip-title">{hover.context.path[hover.context.path.length - 1]}</p>
          <ContextFacts context={hover.context} />
        </Tooltip>
      )}
    </>
  );
}
