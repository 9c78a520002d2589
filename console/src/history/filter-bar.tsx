import { useEffect, useId, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { Button, Collapse, Group, NativeSelect, Pill, SimpleGrid, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Search, SlidersHorizontal, X } from 'lucide-react';
import { formatDateTime } from '../app/format.ts';
import { fromLocal, toLocal } from '../app/local-time.ts';
import { useClient, useMay } from '../app/session.tsx';
import { DIRECTIONS, DISPOSITIONS, FILTER_NAMES, PRESETS, STATES, isTaken } from './filters.ts';
import type { FilterName, Filters } from './filters.ts';
import { wordsOf } from '../app/words.ts';
import styles from './history.module.css';

const dispositionWord = wordsOf('dispositions');
const t = wordsOf('history');

export type Change = (change: { readonly [K in FilterName]?: string | null }, how?: 'typed') => void;
interface FilterProps {
  readonly filters: Filters;
  readonly change: Change;
}
const TYPED_MS = 350;
const PRESET_WORDS = { today: 'today', yesterday: 'yesterday', '7d': 'last_7d', '30d': 'last_30d' } as const;
/** Filters below "more filters". */
const BEHIND: readonly FilterName[] = [
  'number',
  'person',
  'queue',
  'agent',
  'direction',
  'outcome',
  'recording',
  'state',
];

interface TextFilterProps extends FilterProps {
  readonly name: FilterName;
  readonly hint?: string;
  readonly search?: boolean;
  readonly digits?: boolean;
}
function TextFilter({ name, filters, change, hint, search, digits }: TextFilterProps): ReactNode {
  const given = filters[name] ?? '';
  const [text, setText] = useState(given);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // Typed text returns trimmed; a change from elsewhere replaces it.
  useEffect(() => setText((now) => (now.trim() === given ? now : given)), [given]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const bad = text.trim() !== '' && !isTaken(name, text.trim());
  const tell = (next: string): void => {
    clearTimeout(timer.current);
    if (next.trim() === '' || isTaken(name, next.trim())) change({ [name]: next }, 'typed');
  };
  return (
    <TextInput
      label={t(name as 'q')}
      placeholder={hint}
      type={search ? 'search' : 'text'}
      inputMode={digits ? 'numeric' : undefined}
      maxLength={64}
      autoComplete="off"
      spellCheck={false}
      leftSection={search && <Search size={16} aria-hidden />}
      value={text}
      error={bad && t('not_taken')}
      onChange={(event) => {
        const next = event.currentTarget.value;
        setText(next);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => tell(next), TYPED_MS);
      }}
      onBlur={() => text.trim() !== given && tell(text)}
      onKeyDown={(event) => event.key === 'Enter' && tell(text)}
    />
  );
}
interface ChoiceProps extends FilterProps {
  readonly name: FilterName;
  readonly options: readonly { readonly value: string; readonly label: string }[];
}
const Choice = ({ name, filters, change, options }: ChoiceProps): ReactNode => (
  <NativeSelect
    label={t(name as 'direction')}
    value={filters[name] ?? ''}
    onChange={(event) => change({ [name]: event.currentTarget.value })}
    data={[{ value: '', label: t('any') }, ...options]}
  />
);
function WhenFields({ filters, change }: FilterProps): ReactNode {
  const field = (name: 'from' | 'to'): ReactNode => (
    <TextInput
      type="datetime-local"
      label={t(name)}
      value={toLocal(filters[name])}
      onChange={(event) => change({ [name]: fromLocal(event.currentTarget.value) }, 'typed')}
    />
  );
  return (
    <Group gap="sm" grow maw={520}>
      {field('from')}
      {field('to')}
    </Group>
  );
}
function QueueFilter(props: FilterProps): ReactNode {
  const client = useClient();
  const agent = useMay('agent');
  const { data } = useQuery({
    queryKey: ['queues'],
    queryFn: ({ signal }) => client.queues.list(signal),
    enabled: agent,
  });
  if (data === undefined) return <TextFilter {...props} name="queue" />;
  const known = data.queues.map(({ name, title }) => ({ value: name, label: title || name }));
  const { queue } = props.filters;
  const others = queue === undefined || known.some((k) => k.value === queue) ? [] : [queue];
  return (
    <Choice {...props} name="queue" options={[...known, ...others.map((q) => ({ value: q, label: q }))]} />
  );
}

const labelled = <T extends string>(values: readonly T[], label: (value: T) => string) =>
  values.map((value) => ({ value, label: label(value) }));
const WORDS: { readonly [K in FilterName]?: (value: string) => string } = {
  when: (value) => t(PRESET_WORDS[value as keyof typeof PRESET_WORDS]),
  from: formatDateTime,
  to: formatDateTime,
  direction: (value) => t(`direction_${value}` as 'direction_in'),
  disposition: (value) => dispositionWord(`disposition_${value}` as 'disposition_missed'),
  recording: (value) => t(`recording_${value}` as 'recording_true'),
  state: (value) => t(`state_${value}` as 'state_open'),
};
/** Label of a filter: `Queue: support`. */
export const chipText = (name: FilterName, value: string): string => {
  const word = WORDS[name]?.(value) ?? value;
  return name === 'recording' || name === 'when' || name === 'disposition'
    ? word
    : `${t(name as 'q')}: ${word}`;
};

export function FilterBar({
  filters,
  change,
  clear,
}: FilterProps & { readonly clear: () => void }): ReactNode {
  const behind = BEHIND.filter((name) => filters[name] !== undefined).length;
  const [opened, setOpened] = useState(false);
  const [range, setRange] = useState(filters.from !== undefined || filters.to !== undefined);
  const id = useId();
  const custom = range || filters.from !== undefined || filters.to !== undefined;
  const props = { filters, change };
  const active = FILTER_NAMES.flatMap((name) => {
    const value = filters[name];
    return value === undefined ? [] : [{ name, value, text: chipText(name, value) }];
  });
  return (
    <search aria-label={t('filters')} className={styles.search}>
      <div className={styles.filters}>
        <TextFilter {...props} name="q" hint={t('q_hint')} search />
        <NativeSelect
          label={t('when')}
          value={custom ? 'range' : (filters.when ?? '')}
          onChange={(event) => {
            const { value } = event.currentTarget;
            setRange(value === 'range');
            change(value === 'range' ? { when: null } : { when: value, from: null, to: null });
          }}
          data={[
            { value: '', label: t('any_time') },
            ...labelled(PRESETS, (preset) => t(PRESET_WORDS[preset])),
            { value: 'range', label: t('range') },
          ]}
        />
        <Choice
          {...props}
          name="disposition"
          options={labelled(DISPOSITIONS, (d) => dispositionWord(`disposition_${d}`))}
        />
        <Button
          variant="default"
          leftSection={<SlidersHorizontal size={16} aria-hidden />}
          aria-expanded={opened}
          aria-controls={id}
          onClick={() => setOpened(!opened)}
        >
          {t('more_filters')}
          {behind > 0 && ` (${behind})`}
        </Button>
      </div>
      {custom && (
        <Group mt="sm">
          <WhenFields {...props} />
        </Group>
      )}
      <Collapse id={id} expanded={opened}>
        <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="sm" verticalSpacing="sm" mt="sm">
          <TextFilter {...props} name="number" hint={t('number_hint')} />
          <TextFilter {...props} name="person" digits />
          <QueueFilter {...props} />
          <TextFilter {...props} name="agent" digits />
          <Choice {...props} name="direction" options={labelled(DIRECTIONS, (d) => t(`direction_${d}`))} />
          <TextFilter {...props} name="outcome" hint={t('outcome_hint')} />
          <Choice
            {...props}
            name="recording"
            options={labelled(['true', 'false'] as const, (r) => t(`recording_${r}`))}
          />
          <Choice {...props} name="state" options={labelled(STATES, (s) => t(`state_${s}`))} />
        </SimpleGrid>
      </Collapse>
      {active.length > 0 && (
        <Group gap={6} mt="sm">
          {active.map(({ name, value, text }) => (
            <Pill
              key={name}
              size="lg"
              withRemoveButton
              onRemove={() => change({ [name]: null })}
              removeButtonProps={{
                'aria-label': t('remove_filter', { name: text }),
                'aria-hidden': false,
                tabIndex: 0,
                icon: <X size={14} aria-hidden />,
              }}
              data-filter={name}
              title={value}
            >
              {text}
            </Pill>
          ))}
          <Button size="compact-sm" variant="subtle" onClick={clear}>
            {t('clear_filters')}
          </Button>
        </Group>
      )}
    </search>
  );
}
