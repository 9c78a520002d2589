/** A field's value as text in one line. */
import type { ReactNode } from 'react';
import { Text } from '@mantine/core';
import { formatNumber } from '../app/format.ts';
import { kindName, fieldLabel, optionLabel } from './field-words.ts';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('admin');

const MOST = 12;
const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
/** Texts of options are translated, others shown unchanged. */
export function valueText(kind: string, name: string, value: unknown): string {
  if (value === null || value === undefined || value === '') return '–';
  if (typeof value === 'boolean') return t(value ? 'yes' : 'no');
  // A port is shown without separators.
  if (typeof value === 'number' && name === 'port') return String(value);
  if (typeof value === 'number')
    return name.endsWith('_seconds') ? `${formatNumber(value)} ${t('unit_seconds')}` : formatNumber(value);
  if (typeof value === 'string') return OPTIONS.has(name) ? optionLabel(name, value) : value;
  if (Array.isArray(value)) {
    const items: unknown[] = value;
    if (items.length === 0) return '–';
    const shown = items.slice(0, MOST).map((item) => valueText(kind, name, item));
    const more = items.length - shown.length;
    return shown.join(', ') + (more > 0 ? ` … ${t('and_more', { count: more })}` : '');
  }
  if (!isFields(value)) return '–';
  if (typeof value['kind'] === 'string') {
    const key = typeof value['key'] === 'string' ? ` ${value['key']}` : '';
    return `${kindName(value['kind'])}${key}`;
  }
  if (typeof value['prompt'] === 'string') return value['prompt'];
  if (typeof value['built_in'] === 'string') return value['built_in'];
  if (typeof value['extension'] === 'string') return value['extension'];
  if (typeof value['trunk'] === 'string') return value['trunk'];
  return Object.entries(value)
    .map(([inner, one]) => `${fieldLabel(kind, inner)}: ${valueText(kind, inner, one)}`)
    .join('; ');
}
/** Fields with a fixed set of texts. */
const OPTIONS = new Set([
  'level',
  'recording',
  'strategy',
  'override',
  'order',
  'class',
  'call_permission',
  'devices',
  'days',
  'kind',
  'reason',
  'transport',
  'codecs',
]);

interface ValueProps {
  readonly kind: string;
  readonly name: string;
  readonly value: unknown;
}
export const Value = ({ kind, name, value }: ValueProps): ReactNode => (
  <Text span inherit style={{ overflowWrap: 'anywhere' }}>
    {valueText(kind, name, value)}
  </Text>
);
