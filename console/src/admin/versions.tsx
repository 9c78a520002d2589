/** Former versions: the list, the changes of each, a comparison of two, and the restore of one. */
import { useState } from 'react';
import type { ReactNode } from 'react';
import {
  Anchor,
  Button,
  Checkbox,
  Group,
  Paper,
  Select,
  Stack,
  Table,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { OffhookError } from '@offhook/client';
import type { Client } from '@offhook/client';
import type { ConfigVersion } from '@offhook/contract/config-applies.ts';
import { History } from 'lucide-react';
import { Link, useLocation } from 'wouter';
import { Dialog } from '../app/dialog.tsx';
import { formatDateTime, formatNumber } from '../app/format.ts';
import { useOnce } from '../app/once.ts';
import { useClient } from '../app/session.tsx';
import { Empty, Failure, Read } from '../app/states.tsx';
import { ZoneNote } from '../app/zone.tsx';
import { PAGE_PATHS } from '../app/paths.ts';
import { useDraftState } from './data.ts';
import { DriftNotice } from './drift.tsx';
import { foldVersions } from './fold-versions.ts';
import { ObjectChanges } from './object-changes.tsx';
import { Tag } from './tone.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('admin');

type Shown = Pick<Awaited<ReturnType<Client['config']['version']>>, 'version' | 'objects'>;
const hrefOf = (version: number): string => PAGE_PATHS.version.replace(':version', String(version));
/** Limit of versions in a comparison; each is read. */
const MOST_COMPARED = 100;

export function VersionsView(): ReactNode {
  const client = useClient();
  const query = useInfiniteQuery({
    queryKey: ['config', 'versions'],
    queryFn: ({ pageParam, signal }) =>
      client.config.versions({ limit: 50, cursor: pageParam ?? undefined }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_cursor,
  });
  const older = query.hasNextPage && (
    <Group>
      <Button variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
        {t('older')}
      </Button>
    </Group>
  );
  return (
    <Read of={query}>
      {({ pages }) => <Versions versions={pages.flatMap((page) => page.versions)} older={older} />}
    </Read>
  );
}
interface VersionsProps {
  readonly versions: readonly ConfigVersion[];
  /** The button for the next page. */
  readonly older: ReactNode;
}
function Versions({ versions, older }: VersionsProps): ReactNode {
  const [restoring, setRestoring] = useState<ConfigVersion | null>(null);
  return (
    <Stack gap="md">
      <div>
        <Title order={1} size="h2">
          {t('versions')}
        </Title>
        <Text c="dimmed" size="sm">
          {t('versions_lead')}
        </Text>
        <ZoneNote />
      </div>
      {versions.length === 0 ? (
        <Empty title={t('no_versions')} />
      ) : (
        <Paper withBorder>
          <Table.ScrollContainer minWidth={640} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
            <Table verticalSpacing="sm" highlightOnHover>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>{t('version')}</Table.Th>
                  <Table.Th>{t('time')}</Table.Th>
                  <Table.Th>{t('author')}</Table.Th>
                  <Table.Th>{t('comment')}</Table.Th>
                  <Table.Th>{t('objects')}</Table.Th>
                  <Table.Th>{t('actions')}</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {versions.map((version, i) => (
                  <Table.Tr key={version.version}>
                    <Table.Th scope="row">
                      <Group gap="xs" wrap="nowrap">
                        <Anchor component={Link} href={hrefOf(version.version)} size="sm" fw={600}>
                          {formatNumber(version.version)}
                        </Anchor>
                        {i === 0 && <Tag tone="ok">{t('applied_now')}</Tag>}
                      </Group>
                    </Table.Th>
                    <Table.Td>{formatDateTime(version.at)}</Table.Td>
                    <Table.Td>{version.author}</Table.Td>
                    <Table.Td style={{ overflowWrap: 'anywhere' }}>{version.comment ?? '–'}</Table.Td>
                    <Table.Td>{formatNumber(version.objects)}</Table.Td>
                    <Table.Td>
                      {i > 0 && (
                        <Button
                          size="compact-sm"
                          variant="default"
                          leftSection={<History size={14} aria-hidden />}
                          onClick={() => setRestoring(version)}
                          aria-label={t('restore_of', { version: formatNumber(version.version) })}
                        >
                          {t('restore')}
                        </Button>
                      )}
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        </Paper>
      )}
      {older}
      {versions.length > 1 && <Compare versions={versions} />}
      {restoring !== null && <RestoreDialog version={restoring} onClose={() => setRestoring(null)} />}
    </Stack>
  );
}

function Compare({ versions }: { readonly versions: readonly ConfigVersion[] }): ReactNode {
  const client = useClient();
  const newest = versions[0]!.version;
  const [from, setFrom] = useState(String(versions[1]!.version));
  const [to, setTo] = useState(String(newest));
  const [low, high] = [Math.min(Number(from), Number(to)), Math.max(Number(from), Number(to))];
  const count = high - low;
  const query = useQuery({
    queryKey: ['config', 'compared', low, high],
    enabled: count > 0 && count <= MOST_COMPARED,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const read = [];
      for (let version = low + 1; version <= high; version += 1)
        read.push(await client.config.version(version, signal));
      return {
        changes: foldVersions(read.map((one) => one.objects.list)),
        whole: read.every((one) => one.objects.count === one.objects.list.length),
      };
    },
  });
  const options = versions.map(({ version, at }) => ({
    value: String(version),
    label: `${formatNumber(version)} · ${formatDateTime(at)}`,
  }));
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="compare">
      <Title order={2} size="h4" id="compare" mb="xs">
        {t('compare')}
      </Title>
      <Group gap="sm" mb="sm">
        <Select
          label={t('compare_from')}
          data={options}
          value={from}
          onChange={(next) => setFrom(next ?? from)}
        />
        <Select label={t('compare_to')} data={options} value={to} onChange={(next) => setTo(next ?? to)} />
      </Group>
      {count === 0 || query.data?.changes.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t('no_difference')}
        </Text>
      ) : count > MOST_COMPARED ? (
        <Text size="sm" c="dimmed">
          {t('too_far', { most: formatNumber(MOST_COMPARED) })}
        </Text>
      ) : (
        <Read of={query}>
          {({ changes, whole }) => (
            <>
              {!whole && (
                <Text size="sm" c="dimmed" mb="xs">
                  {t('not_whole')}
                </Text>
              )}
              <ObjectChanges changes={changes} />
            </>
          )}
        </Read>
      )}
    </Paper>
  );
}

export function VersionView({ version }: { readonly version: number }): ReactNode {
  const client = useClient();
  const query = useQuery({
    queryKey: ['config', 'version', version],
    queryFn: ({ signal }) => client.config.version(version, signal),
  });
  return (
    <Read of={query} back={{ href: PAGE_PATHS.versions, label: t('versions') }}>
      {(reply) => <Version {...reply} />}
    </Read>
  );
}
function Version({ version: about, objects }: Shown): ReactNode {
  const [restoring, setRestoring] = useState(false);
  const draft = useDraftState();
  return (
    <Stack gap="md">
      <Group justify="space-between" align="flex-end">
        <div>
          <Anchor component={Link} href={PAGE_PATHS.versions} size="sm">
            {t('versions')}
          </Anchor>
          <Title order={1} size="h2">
            {t('version_number', { version: formatNumber(about.version) })}
          </Title>
          <Text c="dimmed" size="sm">
            {t('by_at', { author: about.author, time: formatDateTime(about.at) })}
            {about.comment !== null && ` · ${about.comment}`}
          </Text>
        </div>
        {draft.isError && <Failure error={draft.error} onRetry={() => void draft.refetch()} />}
        {draft.data !== undefined && draft.data.version !== about.version && (
          <Button leftSection={<History size={16} aria-hidden />} onClick={() => setRestoring(true)}>
            {t('restore')}
          </Button>
        )}
      </Group>
      <Title order={2} size="h4">
        {t('objects_changed', { count: objects.count, number: formatNumber(objects.count) })}
      </Title>
      <ObjectChanges changes={objects.list} />
      {objects.count > objects.list.length && (
        <Text size="sm" c="dimmed">
          {t('and_more', { count: objects.count - objects.list.length })}
        </Text>
      )}
      {restoring && <RestoreDialog version={about} onClose={() => setRestoring(false)} />}
    </Stack>
  );
}

function RestoreDialog({
  version,
  onClose,
}: {
  readonly version: ConfigVersion;
  readonly onClose: () => void;
}): ReactNode {
  const client = useClient();
  const draft = useDraftState();
  const [, go] = useLocation();
  const [comment, setComment] = useState('');
  const [discard, setDiscard] = useState(false);
  const [overwrite, setOverwrite] = useState(false);
  const changed = (draft.data?.total ?? 0) > 0;
  const restore = useOnce({
    mutationFn: () =>
      client.config.restore(version.version, {
        comment: comment.trim() === '' ? null : comment.trim(),
        discard_draft: discard,
        overwrite_drift: overwrite,
      }),
    onSuccess: ({ apply }) => go(PAGE_PATHS.apply.replace(':apply', String(apply.id))),
  });
  const { error } = restore;
  const drift = error instanceof OffhookError && error.code === 'config_drift';
  return (
    <Dialog
      opened
      onClose={onClose}
      size="lg"
      title={t('restore_of', { version: formatNumber(version.version) })}
    >
      <Stack gap="sm">
        <Text size="sm">{t('restore_text')}</Text>
        <DriftNotice />
        <TextInput
          label={t('comment')}
          maxLength={200}
          value={comment}
          onChange={(event) => setComment(event.currentTarget.value)}
        />
        {changed && (
          <Checkbox
            label={t('give_up_draft', {
              count: draft.data?.total ?? 0,
              number: formatNumber(draft.data?.total ?? 0),
            })}
            checked={discard}
            onChange={(event) => setDiscard(event.currentTarget.checked)}
          />
        )}
        {(drift || overwrite) && (
          <Checkbox
            label={t('overwrite_drift')}
            checked={overwrite}
            onChange={(event) => setOverwrite(event.currentTarget.checked)}
          />
        )}
        {error !== null && <Failure error={error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            {t('cancel')}
          </Button>
          <Button loading={restore.isPending} disabled={changed && !discard} onClick={() => restore.mutate()}>
            {t('restore_and_apply')}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
