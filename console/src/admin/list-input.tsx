/** A list whose lines can be added, removed and reordered, by keyboard, too. */
import { useState } from 'react';
import type { KeyboardEvent, ReactNode } from 'react';
import { ActionIcon, Button, Group, Input, Paper, Stack, Text, VisuallyHidden } from '@mantine/core';
import { ArrowDown, ArrowUp, Plus, Trash2 } from 'lucide-react';
import { formatNumber } from '../app/format.ts';
import { fieldAdd, fieldHelp, fieldLabel } from './field-words.ts';
import { fieldId, useForm } from './form-context.ts';
import type { InputProps } from './inputs.tsx';
import { useMistake } from './mistakes.tsx';
import { newItem } from './schema.ts';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('admin');

/** Lines rendered at once: a queue can have a thousand. */
const STEP = 50;

export interface Line {
  readonly index: number;
  readonly path: string;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}
interface ListInputProps extends InputProps {
  readonly line: (line: Line) => ReactNode;
}

interface ListLineProps {
  readonly id: string;
  readonly label: string;
  readonly index: number;
  readonly isLast: boolean;
  readonly onMove: (to: number) => void;
  readonly onRemove: () => void;
  readonly children: ReactNode;
}
/** One line with its number and buttons; Alt with an arrow key moves it. */
function ListLine({ id, label, index, isLast, onMove, onRemove, children }: ListLineProps): ReactNode {
  const place = formatNumber(index + 1);
  const onKey = (event: KeyboardEvent): void => {
    if (!event.altKey || (event.key !== 'ArrowUp' && event.key !== 'ArrowDown')) return;
    event.preventDefault();
    onMove(event.key === 'ArrowUp' ? index - 1 : index + 1);
  };
  return (
    <Paper
      withBorder
      p="xs"
      id={`${id}.line`}
      onKeyDown={onKey}
      role="group"
      aria-label={t('line_of', { label, place })}
    >
      <Group gap="xs" wrap="nowrap" align="flex-start">
        <Text size="sm" c="dimmed" w={28} ta="right" pt={8} aria-hidden>
          {place}
        </Text>
        <div style={{ flex: 1, minWidth: 0 }}>{children}</div>
        <Group gap={4} wrap="nowrap" pt={4}>
          <ActionIcon
            id={`${id}.up`}
            variant="default"
            size="lg"
            disabled={index === 0}
            aria-label={t('move_up', { place })}
            onClick={() => onMove(index - 1)}
          >
            <ArrowUp size={16} aria-hidden />
          </ActionIcon>
          <ActionIcon
            id={`${id}.down`}
            variant="default"
            size="lg"
            disabled={isLast}
            aria-label={t('move_down', { place })}
            onClick={() => onMove(index + 1)}
          >
            <ArrowDown size={16} aria-hidden />
          </ActionIcon>
          <ActionIcon
            id={`${id}.remove`}
            variant="default"
            size="lg"
            aria-label={t('remove_line', { place })}
            onClick={onRemove}
          >
            <Trash2 size={16} aria-hidden />
          </ActionIcon>
        </Group>
      </Group>
    </Paper>
  );
}

export function ListInput({ field, path, value, onChange, line }: ListInputProps): ReactNode {
  const { kind } = useForm();
  const [shown, setShown] = useState(STEP);
  const [said, setSaid] = useState('');
  const error = useMistake(path);
  const { name, shape, required } = field;
  if (shape.is !== 'list') return null;
  const { item, most } = shape;
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  const label = fieldLabel(kind, name);
  const help = fieldHelp(kind, name);
  const button = (index: number, what: string): string => `${fieldId(path)}.${index}.${what}`;
  const focus = (id: string): void => {
    // The line exists after the next render.
    requestAnimationFrame(() => document.getElementById(id)?.focus());
  };
  function move(from: number, to: number): void {
    if (to < 0 || to >= items.length) return;
    const next = items.filter((_, i) => i !== from);
    onChange(next.toSpliced(to, 0, items[from]));
    setSaid(t('moved_to', { place: formatNumber(to + 1), total: formatNumber(items.length) }));
    const way = to < from ? 'up' : 'down';
    const end = to === 0 || to === items.length - 1;
    focus(button(to, end ? (way === 'up' ? 'down' : 'up') : way));
  }
  function remove(index: number): void {
    onChange(items.filter((_, i) => i !== index));
    focus(items.length > 1 ? button(Math.max(0, index - 1), 'remove') : `${fieldId(path)}.add`);
  }
  function add(): void {
    onChange([...items, newItem(item)]);
    setShown(Math.max(shown, items.length + 1));
    requestAnimationFrame(() => {
      const added = document.getElementById(`${fieldId(path)}.${items.length}.line`);
      added?.querySelector<HTMLElement>('input, select')?.focus();
    });
  }
  return (
    <Input.Wrapper
      label={label}
      description={help || undefined}
      error={error}
      labelElement="div"
      withAsterisk={required}
    >
      <Stack gap="xs" mt={6} id={fieldId(path)} component="div" role="group" aria-label={label}>
        {items.length === 0 && (
          <Text size="sm" c="dimmed">
            {t('list_empty')}
          </Text>
        )}
        {items.slice(0, shown).map((one, index) => (
          <ListLine
            // A line has no identity but its position.
            key={`${index}/${items.length}`}
            id={`${fieldId(path)}.${index}`}
            label={label}
            index={index}
            isLast={index === items.length - 1}
            onMove={(to) => move(index, to)}
            onRemove={() => remove(index)}
          >
            {line({
              index,
              path: `${path}.${index}`,
              value: one,
              onChange: (next) => onChange(items.map((old, i) => (i === index ? next : old))),
            })}
          </ListLine>
        ))}
        <Group gap="xs">
          <Button
            id={`${fieldId(path)}.add`}
            variant="default"
            size="sm"
            leftSection={<Plus size={16} aria-hidden />}
            disabled={most !== null && items.length >= most}
            onClick={add}
          >
            {fieldAdd(kind, name) || t('add_line', { label })}
          </Button>
          {items.length > shown && (
            <Button variant="subtle" size="sm" onClick={() => setShown(shown + STEP)}>
              {t('show_more', { count: Math.min(STEP, items.length - shown) })}
            </Button>
          )}
        </Group>
        <VisuallyHidden role="status">{said}</VisuallyHidden>
      </Stack>
    </Input.Wrapper>
  );
}
