/** Thresholds of a board: the metric, its direction and the two levels. */
import type { ReactNode } from 'react';
import { ActionIcon, Group, NativeSelect, NumberInput, Select, Stack, Text } from '@mantine/core';
import { Plus, X } from 'lucide-react';
import type { BoardMetric, BoardThreshold } from '@offhook/contract/boards.ts';
import { wordsOf } from '../app/words.ts';
import { METRICS, metricChoices, metricName } from './metrics.ts';
import { kindOf } from './model.ts';

const e = wordsOf('board-editor');
const t = wordsOf('wallboard');

/** Rates are shown in per cent and stored from 0 to 1. */
const scale = (metric: BoardMetric): number => (kindOf(metric) === 'rate' ? 100 : 1);
interface ThresholdsEditorProps {
  readonly rows: readonly BoardThreshold[];
  readonly onChange: (rows: BoardThreshold[]) => void;
}
export function ThresholdsEditor({ rows, onChange }: ThresholdsEditorProps): ReactNode {
  const change = (index: number, fields: Partial<BoardThreshold>): void =>
    onChange(rows.map((row, i) => (i === index ? { ...row, ...fields } : row)));
  const used = new Set(rows.map(({ metric }) => metric));
  const free = METRICS.filter((metric) => !used.has(metric));
  const level = (row: BoardThreshold, index: number, which: 'warn' | 'alert'): ReactNode => (
    <NumberInput
      label={t(which)}
      aria-label={`${metricName(row.metric)}: ${t(which)}`}
      size="xs"
      w={110}
      min={0}
      suffix={kindOf(row.metric) === 'rate' ? ' %' : kindOf(row.metric) === 'seconds' ? ' s' : ''}
      value={row[which] === null ? '' : Math.round(row[which] * scale(row.metric) * 10) / 10}
      onChange={(value) =>
        change(index, { [which]: typeof value === 'number' ? value / scale(row.metric) : null })
      }
    />
  );
  return (
    <Stack gap="sm">
      {rows.map((row, index) => (
        <Group key={row.metric} gap="xs" align="end">
          <Text size="sm" fw={600} w="100%">
            {metricName(row.metric)}
          </Text>
          <NativeSelect
            label={e('direction')}
            aria-label={`${metricName(row.metric)}: ${e('direction')}`}
            size="xs"
            value={row.direction}
            data={(['above', 'below'] as const).map((value) => ({ value, label: t(value) }))}
            onChange={(event) =>
              change(index, { direction: event.currentTarget.value as BoardThreshold['direction'] })
            }
          />
          {level(row, index, 'warn')}
          {level(row, index, 'alert')}
          <ActionIcon
            variant="subtle"
            size={30}
            onClick={() => onChange(rows.toSpliced(index, 1))}
            aria-label={e('remove', { name: metricName(row.metric) })}
          >
            <X size={16} aria-hidden />
          </ActionIcon>
        </Group>
      ))}
      {free.length > 0 && (
        <Select
          size="xs"
          aria-label={e('add_threshold')}
          placeholder={e('add_threshold')}
          leftSection={<Plus size={14} aria-hidden />}
          value={null}
          data={metricChoices().filter(({ value }) => free.includes(value))}
          onChange={(metric) =>
            metric !== null &&
            onChange([
              ...rows,
              { metric: metric as BoardMetric, direction: 'above', warn: null, alert: null },
            ])
          }
        />
      )}
    </Stack>
  );
}
