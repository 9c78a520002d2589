import { useState } from 'react';
import type { FormEvent, ReactNode } from 'react';
import {
  Alert,
  Button,
  Fieldset,
  Group,
  MultiSelect,
  NativeSelect,
  NumberInput,
  SegmentedControl,
  Stack,
  Switch,
  Text,
  TextInput,
} from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useLocation } from 'wouter';
import { OffhookError } from '@offhook/client';
import type { Board, BoardMetric, NewBoard } from '@offhook/contract/boards.ts';
import { useAttempt } from '../app/attempt.ts';
import { fieldsWith } from '../app/field-errors.ts';
import { useOnce } from '../app/once.ts';
import { useClient, useMay } from '../app/session.tsx';
import { Failure } from '../app/states.tsx';
import { wordsOf } from '../app/words.ts';
import { PAGE_PATHS } from '../app/paths.ts';
import { BoardQueues } from './board-queues.tsx';
import { metricChoices } from './metrics.ts';
import { DEFAULT_LAYOUT } from './model.ts';
import { Rows } from './rows.tsx';
import { ThresholdsEditor } from './thresholds-editor.tsx';
import styles from './page.module.css';

const e = wordsOf('board-editor');
const t = wordsOf('wallboard');

const PARTS = DEFAULT_LAYOUT.parts;
type Layout = Board['layout'];
type Draft = Required<NewBoard>;
interface EditorProps {
  /** Null for one that is not saved yet. */
  readonly board: Board | null;
  readonly from: Draft;
  readonly onDone: () => void;
}
/** The board is saved as a whole, with the version it was read with. */
function useSave(board: Board | null, draft: Draft, onDone: () => void) {
  const client = useClient();
  const queries = useQueryClient();
  const [, go] = useLocation();
  const [version, setVersion] = useState(board?.version);
  const attempt = useAttempt();
  const save = useOnce({
    mutationFn: () =>
      board === null
        ? attempt(draft, (options) => client.boards.create(draft, options))
        : client.boards.replace(board.id, draft, { if_match: version }),
    onSuccess: async (reply) => {
      queries.setQueryData(['board', reply.board.id], reply);
      await queries.invalidateQueries({ queryKey: ['boards'] });
      go(PAGE_PATHS.board.replace(':board', String(reply.board.id)));
      onDone();
    },
    onError: (error) => {
      if (!isOutdated(error) || board === null) return;
      const now = Number(error.problem?.etag);
      if (Number.isSafeInteger(now)) setVersion(now);
    },
  });
  return { save, outdated: isOutdated(save.error) };
}
const isOutdated = (error: unknown): error is OffhookError =>
  error instanceof OffhookError && error.code === 'precondition_failed';

export function Editor({ board, from, onDone }: EditorProps): ReactNode {
  const mayShare = useMay('supervisor') || from.shared;
  const [draft, setDraft] = useState(from);
  const { save, outdated } = useSave(board, draft, onDone);
  const { layout } = draft;
  const put = (fields: Partial<Draft>): void => setDraft((old) => ({ ...old, ...fields }));
  const lay = (fields: Partial<Layout>): void =>
    setDraft((old) => ({ ...old, layout: { ...old.layout, ...fields } }));
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate();
  };
  const labels = {
    name: t('name'),
    shared: e('shared'),
    queues: t('queues_part'),
    'layout.figures': e('figures'),
    'layout.thresholds': e('thresholds'),
    'layout.columns': e('columns'),
    'layout.caller_numbers': e('caller_numbers'),
  };
  const field = fieldsWith(save.error, labels);
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          {...field('name')}
          value={draft.name}
          onChange={(event) => put({ name: event.currentTarget.value })}
          maxLength={80}
          required
          data-autofocus
        />
        <Switch
          {...field('shared')}
          description={mayShare ? undefined : e('shared_hint')}
          disabled={!mayShare}
          checked={draft.shared}
          onChange={(event) => put({ shared: event.currentTarget.checked })}
        />
        <BoardQueues
          queues={draft.queues}
          tiles={layout.tiles}
          onChange={(queues, tiles) => {
            put({ queues });
            lay({ tiles });
          }}
        />
        <MultiSelect
          {...field('layout.figures')}
          description={e('figures_hint')}
          data={metricChoices()}
          value={[...layout.figures]}
          onChange={(figures) => figures.length > 0 && lay({ figures: figures as BoardMetric[] })}
        />
        <Fieldset legend={e('thresholds')}>
          <Text size="xs" c="dimmed" mb="sm">
            {e('threshold_hint')}
          </Text>
          <ThresholdsEditor rows={layout.thresholds} onChange={(thresholds) => lay({ thresholds })} />
        </Fieldset>
        <BoardParts parts={layout.parts} onChange={(parts) => lay({ parts })} />
        <Group grow align="end">
          <NumberInput
            {...field('layout.columns')}
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
          {...field('layout.caller_numbers')}
          value={layout.caller_numbers}
          data={(['last_digits', 'full'] as const).map((value) => ({ value, label: e(value) }))}
          onChange={(event) => lay({ caller_numbers: event.currentTarget.value as Layout['caller_numbers'] })}
        />
        {outdated && (
          <Alert role="alert" color="yellow" variant="light">
            {e('changed_meanwhile')}
          </Alert>
        )}
        {save.error !== null && !outdated && <Failure error={save.error} labels={labels} />}
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
interface BoardPartsProps {
  readonly parts: Layout['parts'];
  readonly onChange: (parts: Layout['parts']) => void;
}
/** The shown parts in their order, and buttons that add the others. */
const BoardParts = ({ parts, onChange }: BoardPartsProps): ReactNode => (
  <Fieldset legend={t('parts')}>
    <Stack gap="sm">
      <Rows
        removable={parts.length > 1}
        onOrder={(order) => onChange(order as Layout['parts'])}
        rows={parts.map((part) => ({ id: part, name: t(`${part}_part`) }))}
      />
      <Group gap="xs">
        {PARTS.filter((part) => !parts.includes(part)).map((part) => (
          <Button
            key={part}
            size="xs"
            variant="default"
            leftSection={<Plus size={14} aria-hidden />}
            onClick={() => onChange([...parts, part])}
          >
            {t(`${part}_part`)}
          </Button>
        ))}
      </Group>
    </Stack>
  </Fieldset>
);
