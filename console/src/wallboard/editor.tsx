import { useState } from 'react';
import type { FormEvent, ReactNode } from 'react';
import {
  ActionIcon,
  Alert,
  Button,
  Fieldset,
  Group,
  MultiSelect,
  NativeSelect,
  NumberInput,
  SegmentedControl,
  Select,
  Stack,
  Switch,
  Text,
  TextInput,
} from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Plus, X } from 'lucide-react';
import { useLocation } from 'wouter';
import { OffhookError } from '@offhook/client';
import type { Board, BoardMetric, BoardThreshold, NewBoard } from '@offhook/contract/boards.ts';
import { useTopic } from '../app/live.ts';
import { useOnce } from '../app/once.ts';
import { useClient, useMay } from '../app/session.tsx';
import { Failure } from '../app/states.tsx';
import { PAGE_PATHS } from '../paths.ts';
import { METRICS, metricName } from './metrics.ts';
import { DEFAULT_LAYOUT, kindOf } from './model.ts';
import { Rows } from './rows.tsx';
import { wordsOf } from '../app/words.ts';
import styles from './page.module.css';

const e = wordsOf('board-editor');
const t = wordsOf('wallboard');

const PARTS = DEFAULT_LAYOUT.parts;
type Layout = Board['layout'];
type Draft = Required<NewBoard>;
const metricChoices = (): { value: BoardMetric; label: string }[] =>
  METRICS.map((value) => ({ value, label: metricName(value) }));

/** Rates are written as per cent and kept from 0 to 1. */
const scale = (metric: BoardMetric): number => (kindOf(metric) === 'rate' ? 100 : 1);
function Thresholds({
  rows,
  onChange,
}: {
  readonly rows: readonly BoardThreshold[];
  readonly onChange: (rows: BoardThreshold[]) => void;
}): ReactNode {
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

interface EditorProps {
  /** Null for one that is not kept yet. */
  readonly board: Board | null;
  readonly from: Draft;
  readonly onDone: () => void;
}
/** A board is written as a whole, with the version it was read with. */
export function Editor({ board, from, onDone }: EditorProps): ReactNode {
  const client = useClient();
  const queries = useQueryClient();
  const [, go] = useLocation();
  const mayShare = useMay('supervisor') || from.shared;
  const { records } = useTopic('queues');
  const [draft, setDraft] = useState(from);
  const [version, setVersion] = useState(board?.version);
  const layout = draft.layout;
  const put = (fields: Partial<Draft>): void => setDraft((old) => ({ ...old, ...fields }));
  const lay = (fields: Partial<Layout>): void =>
    setDraft((old) => ({ ...old, layout: { ...old.layout, ...fields } }));
  const titleOf = (name: string): string => records.get(name)?.title || name;

  const save = useOnce({
    mutationFn: () =>
      board === null
        ? client.boards.create(draft)
        : client.boards.replace(board.id, draft, { if_match: version }),
    onSuccess: async (reply) => {
      queries.setQueryData(['board', reply.board.id], reply);
      await queries.invalidateQueries({ queryKey: ['boards'] });
      go(PAGE_PATHS.board.replace(':board', String(reply.board.id)));
      onDone();
    },
    onError: (error) => {
      if (!(error instanceof OffhookError) || error.code !== 'precondition_failed' || board === null) return;
      const now = Number(error.problem?.etag);
      if (Number.isSafeInteger(now)) setVersion(now);
    },
  });
  const meanwhile = save.error instanceof OffhookError && save.error.code === 'precondition_failed';

  const setQueues = (queues: string[] | null): void =>
    setDraft((old) => ({
      ...old,
      queues,
      layout: {
        ...old.layout,
        tiles: old.layout.tiles.filter(({ queue }) => queues === null || queues.includes(queue)),
      },
    }));
  /** Tiles in the order of the list; one that says nothing of its own is only its place. */
  const order = (names: string[]): void => {
    const tiles = names.map(
      (queue) => layout.tiles.find((tile) => tile.queue === queue) ?? { queue, figures: null },
    );
    setDraft((old) => ({ ...old, queues: names, layout: { ...old.layout, tiles } }));
  };
  const own = (queue: string, figures: string[]): void => {
    const tiles = (draft.queues ?? []).map(
      (name) => layout.tiles.find((tile) => tile.queue === name) ?? { queue: name, figures: null },
    );
    lay({
      tiles: tiles.map((tile) =>
        tile.queue === queue
          ? { queue, figures: figures.length === 0 ? null : (figures as BoardMetric[]) }
          : tile,
      ),
    });
  };
  const ordered =
    draft.queues === null
      ? []
      : [
          ...layout.tiles.map(({ queue }) => queue).filter((name) => draft.queues?.includes(name)),
          ...draft.queues.filter((name) => !layout.tiles.some(({ queue }) => queue === name)),
        ];
  const free = [...records.keys()].filter((name) => !ordered.includes(name));
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label={t('name')}
          value={draft.name}
          onChange={(event) => put({ name: event.currentTarget.value })}
          maxLength={80}
          required
          data-autofocus
        />
        <Switch
          label={e('shared')}
          description={mayShare ? undefined : e('shared_hint')}
          disabled={!mayShare}
          checked={draft.shared}
          onChange={(event) => put({ shared: event.currentTarget.checked })}
        />
        <Fieldset legend={t('queues_part')}>
          <Stack gap="sm">
            <Switch
              label={e('all_queues')}
              checked={draft.queues === null}
              onChange={(event) => {
                if (event.currentTarget.checked) setQueues(null);
                else order([...records.keys()].slice(0, 500));
              }}
            />
            {draft.queues !== null && (
              <>
                <Text size="sm" fw={600}>
                  {e('board_queues')}
                </Text>
                <Rows
                  removable={ordered.length > 1}
                  onOrder={order}
                  rows={ordered.map((name) => ({
                    id: name,
                    name: titleOf(name),
                    extra: ordered.length <= 40 && (
                      <MultiSelect
                        size="xs"
                        w={230}
                        aria-label={`${titleOf(name)}: ${e('own_figures')}`}
                        placeholder={e('as_board')}
                        data={metricChoices()}
                        value={[...(layout.tiles.find(({ queue }) => queue === name)?.figures ?? [])]}
                        onChange={(figures) => own(name, figures)}
                      />
                    ),
                  }))}
                />
                {free.length > 0 && ordered.length < 500 && (
                  <Select
                    aria-label={e('add_queue')}
                    placeholder={e('add_queue')}
                    leftSection={<Plus size={16} aria-hidden />}
                    searchable
                    limit={60}
                    value={null}
                    data={free.map((value) => ({ value, label: titleOf(value) }))}
                    onChange={(name) => name !== null && order([...ordered, name])}
                  />
                )}
              </>
            )}
          </Stack>
        </Fieldset>
        <MultiSelect
          label={e('figures')}
          description={e('figures_hint')}
          data={metricChoices()}
          value={[...layout.figures]}
          onChange={(figures) => figures.length > 0 && lay({ figures: figures as BoardMetric[] })}
        />
        <Fieldset legend={e('thresholds')}>
          <Text size="xs" c="dimmed" mb="sm">
            {e('threshold_hint')}
          </Text>
          <Thresholds rows={layout.thresholds} onChange={(thresholds) => lay({ thresholds })} />
        </Fieldset>
        <Fieldset legend={t('parts')}>
          <Stack gap="sm">
            <Rows
              removable={layout.parts.length > 1}
              onOrder={(parts) => lay({ parts: parts as Layout['parts'] })}
              rows={layout.parts.map((part) => ({ id: part, name: t(`${part}_part`) }))}
            />
            <Group gap="xs">
              {PARTS.filter((part) => !layout.parts.includes(part)).map((part) => (
                <Button
                  key={part}
                  size="xs"
                  variant="default"
                  leftSection={<Plus size={14} aria-hidden />}
                  onClick={() => lay({ parts: [...layout.parts, part] })}
                >
                  {t(`${part}_part`)}
                </Button>
              ))}
            </Group>
          </Stack>
        </Fieldset>
        <Group grow align="end">
          <NumberInput
            label={e('columns')}
            placeholder={e('columns_auto')}
            min={1}
            max={12}
            value={layout.columns ?? ''}
            onChange={(value) => lay({ columns: typeof value === 'number' ? value : null })}
          />
          <Stack gap={4}>
            <Text size="sm" fw={500} id="density">
              {e('density')}
            </Text>
            <SegmentedControl
              aria-labelledby="density"
              value={layout.density}
              data={(['comfortable', 'compact'] as const).map((value) => ({ value, label: t(value) }))}
              onChange={(value) => lay({ density: value as Layout['density'] })}
            />
          </Stack>
        </Group>
        <NativeSelect
          label={e('caller_numbers')}
          value={layout.caller_numbers}
          data={(['last_digits', 'full'] as const).map((value) => ({ value, label: e(value) }))}
          onChange={(event) => lay({ caller_numbers: event.currentTarget.value as Layout['caller_numbers'] })}
        />
        {meanwhile && (
          <Alert role="alert" color="yellow" variant="light">
            {e('changed_meanwhile')}
          </Alert>
        )}
        {save.error !== null && !meanwhile && <Failure error={save.error} />}
        <Group justify="flex-end" className={styles.save ?? ''}>
          <Button variant="default" onClick={onDone}>
            {e('cancel')}
          </Button>
          <Button type="submit" loading={save.isPending}>
            {e('save')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
