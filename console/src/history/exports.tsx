import { useState } from 'react';
import type { ReactNode } from 'react';
import {
  ActionIcon,
  Alert,
  Button,
  Group,
  Modal,
  Pill,
  Progress,
  Radio,
  Stack,
  Text,
  Title,
} from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Download, FileSpreadsheet, X } from 'lucide-react';
import type { Export, ExportsReply } from '@offhook/contract/exports.ts';
import { useAttempt } from '../app/attempt.ts';
import { formatDateTime, formatNumber } from '../app/format.ts';
import { serverNow } from '../app/now.ts';
import { useOnce } from '../app/once.ts';
import { useClient, useMe } from '../app/session.tsx';
import { Failure, Read } from '../app/states.tsx';
import { chipText } from './filter-bar.tsx';
import { FILTER_NAMES, beyondExport, exportFilterOf } from './filters.ts';
import type { Filters, Scope } from './filters.ts';
import { wordsOf } from '../app/words.ts';
import styles from './conversation.module.css';

const t = wordsOf('exports');
const say = wordsOf('history');

/**
 * The progress of a file is in no topic of the stream: the list is requested again, and the service answers on a
 * change.
 */
const AGAIN_MS = 250;
/** Interval while the service is unreachable. */
const AWAY_MS = 3_000;
const KEY = ['exports'];
const isUnderWay = ({ state }: Export): boolean => state === 'queued' || state === 'running';

function rowsText({ rows: { done, estimated }, state }: Export): string {
  if (state === 'running' && estimated !== null) {
    return t('rows_of', { done: formatNumber(done), estimated: formatNumber(Math.max(done, estimated)) });
  }
  return state === 'done' ? t('rows', { count: done }) : '';
}
function FileRow({ file, onRemove }: { readonly file: Export; readonly onRemove: () => void }): ReactNode {
  const me = useMe();
  const { id, state, format, bytes, by, rows, expires_at } = file;
  const size = bytes === null ? '' : t('kb', { n: formatNumber(Math.max(1, bytes / 1000)) });
  const facts = [
    formatDateTime(file.created_at),
    by === me.extension ? '' : t('by', { by }),
    rowsText(file),
    size,
    state === 'done' && expires_at !== null ? t('until', { at: formatDateTime(expires_at) }) : '',
  ];
  const share = rows.estimated ? Math.min(1, rows.done / rows.estimated) : 0;
  return (
    <li className={styles.note} data-export={id} data-state={state}>
      <div style={{ flex: 1, minWidth: 0 }}>
        <Text size="sm" fw={600}>
          {t('file', { format: format.toUpperCase() })}
          <Text span inherit fw={400} c={state === 'failed' ? 'var(--offhook-alert)' : 'dimmed'}>
            {` · ${t(state)}`}
          </Text>
        </Text>
        <Text size="xs" c="dimmed">
          {facts.filter(Boolean).join(' · ')}
        </Text>
        {file.error !== null && (
          <Text size="xs" lang="en">
            {file.error}
          </Text>
        )}
        {isUnderWay(file) && (
          <Progress.Root size="sm" mt={6}>
            <Progress.Section value={share * 100} animated aria-label={t(state)} />
          </Progress.Root>
        )}
      </div>
      {state === 'done' && (
        <Button
          component="a"
          href={`/api/v1/exports/${id}/file`}
          download
          variant="light"
          size="sm"
          leftSection={<Download size={16} aria-hidden />}
        >
          {t('download')}
        </Button>
      )}
      {(isUnderWay(file) || state === 'done') && (
        <ActionIcon
          variant="subtle"
          color="gray"
          size={36}
          aria-label={t(state === 'done' ? 'delete' : 'cancel')}
          onClick={onRemove}
        >
          <X size={18} aria-hidden />
        </ActionIcon>
      )}
    </li>
  );
}
interface Props {
  readonly filters: Filters;
  readonly scope: Scope;
}
function Body({ filters, scope }: Props): ReactNode {
  const client = useClient();
  const me = useMe();
  const queries = useQueryClient();
  const attempt = useAttempt();
  const [format, setFormat] = useState<'csv' | 'xlsx'>('csv');
  const files = useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) => {
      const seen = queries.getQueryData<ExportsReply>(KEY)?.version;
      return client.exports.list({ limit: 20, seen }, signal);
    },
    staleTime: 0,
    // Not cached, so that the next opening of the list does not wait for a change.
    gcTime: 0,
    refetchInterval: ({ state }) => (state.status === 'error' ? AWAY_MS : AGAIN_MS),
  });
  const again = (): Promise<void> => queries.invalidateQueries({ queryKey: KEY });
  const change = useOnce({
    mutationFn(gone: Export | null): Promise<unknown> {
      if (gone !== null) return client.exports.remove(gone.id);
      const filter = exportFilterOf(filters, scope, me.extension, serverNow());
      return attempt([format, filter], (options) => client.exports.create({ format, filter }, options));
    },
    onSettled: again,
  });
  const beyond = beyondExport(filters);
  const chips = FILTER_NAMES.flatMap((name) => {
    const value = filters[name];
    return value === undefined || beyond.includes(name) ? [] : [chipText(name, value)];
  });
  if (scope === 'mine') chips.unshift(say('mine'));
  return (
    <Stack>
      <div>
        <Text size="sm">{t(chips.length === 0 ? 'everything' : 'lead')}</Text>
        <Group gap={6} mt={6}>
          {chips.map((text) => (
            <Pill key={text}>{text}</Pill>
          ))}
        </Group>
      </div>
      {beyond.length > 0 && (
        <Alert color="yellow" variant="light">
          {t('beyond', { names: beyond.map((name) => say(name)).join(', ') })}
        </Alert>
      )}
      <Radio.Group label={t('format')} value={format} onChange={(value) => setFormat(value as typeof format)}>
        <Group mt={6}>
          <Radio value="csv" label={t('csv')} />
          <Radio value="xlsx" label={t('xlsx')} />
        </Group>
      </Radio.Group>
      {change.isError && <Failure error={change.error} />}
      <Group justify="space-between">
        <Text size="xs" c="dimmed" maw={300}>
          {t('audited')}
        </Text>
        <Button loading={change.isPending} onClick={() => change.mutate(null)}>
          {t('make')}
        </Button>
      </Group>
      <section aria-label={t('own')}>
        <Title order={3} size="h6" mb={4}>
          {t('own')}
        </Title>
        <Read of={files}>
          {({ exports }) =>
            exports.length === 0 ? (
              <Text size="sm" c="dimmed">
                {t('none')}
              </Text>
            ) : (
              <ul className={styles.plain} aria-live="polite">
                {exports.map((file) => (
                  <FileRow key={file.id} file={file} onRemove={() => change.mutate(file)} />
                ))}
              </ul>
            )
          }
        </Read>
      </section>
    </Stack>
  );
}
export function Exports(props: Props): ReactNode {
  const [opened, setOpened] = useState(false);
  return (
    <>
      <Button
        variant="default"
        leftSection={<FileSpreadsheet size={16} aria-hidden />}
        onClick={() => setOpened(true)}
      >
        {t('export')}
      </Button>
      <Modal opened={opened} onClose={() => setOpened(false)} title={t('title')} size="lg">
        <Body {...props} />
      </Modal>
    </>
  );
}
