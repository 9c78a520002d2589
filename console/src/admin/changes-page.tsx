/** The draft: its changes, its findings, the files for the engine, and the apply. */
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Badge, Button, Group, List, Modal, Paper, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { OffhookError } from '@offhook/client';
import type { Client } from '@offhook/client';
import type { ObjectChange } from '@offhook/contract/config-applies.ts';
import { CheckCheck, Undo2 } from 'lucide-react';
import { Link } from 'wouter';
import { formatDateTime, formatNumber } from '../app/format.ts';
import { useOnce } from '../app/once.ts';
import { useClient } from '../app/session.tsx';
import { Empty, Failure, Loading } from '../app/states.tsx';
import { PAGE_PATHS } from '../app/paths.ts';
import { ApplyCard } from './apply-card.tsx';
import { useDraftState, useRenewed } from './data.ts';
import { Diff } from './diff.tsx';
import { DriftNotice, useDrift } from './drift.tsx';
import { kindName } from './field-words.ts';
import { ObjectChanges } from './object-changes.tsx';
import { FindingText } from './object-form.tsx';
import { Note, Tag } from './tone.tsx';
import { say } from './say.ts';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('admin');
type Checked = Awaited<ReturnType<Client['config']['validate']>>;
type Plan = Awaited<ReturnType<Client['config']['plan']>>;

export function ChangesView(): ReactNode {
  const client = useClient();
  const draft = useDraftState();
  const plan = useQuery({
    queryKey: ['config', 'plan'],
    queryFn: ({ signal }) => client.config.plan(signal),
    staleTime: 0,
  });
  const checked = useQuery({
    queryKey: ['config', 'validate'],
    queryFn: ({ signal }) => client.config.validate([], { signal }),
    staleTime: 0,
  });
  const drift = useDrift();
  const [discarding, setDiscarding] = useState(false);
  const failed = [draft, plan, checked, drift].filter((read) => read.isError);
  const failure = failed[0] !== undefined && (
    <Failure error={failed[0].error} onRetry={() => failed.forEach((read) => void read.refetch())} />
  );
  if (draft.data === undefined) return failure || <Loading />;
  const { total, changes: rows } = draft.data;
  const files = plan.data?.files ?? [];
  const foreign = drift.data?.files ?? [];
  // An apply reads hand-written files and overwrites only the others.
  const changed = foreign.filter((file) => !file.hand_written).map((file) => file.name);
  const nothing = total + files.length + foreign.length === 0;
  const author = (change: ObjectChange): ReactNode => {
    const row = rows.find((r) => r.kind === change.kind && r.key === change.key);
    return (
      <Group gap="xs">
        {row !== undefined && (
          <Text size="xs" c="dimmed">
            {t('by_at', { author: row.author, time: formatDateTime(row.at) })}
          </Text>
        )}
        <DiscardOne change={change} />
      </Group>
    );
  };
  return (
    <Stack gap="md">
      <Group justify="space-between" align="flex-end">
        <div>
          <Title order={1} size="h2">
            {t('changes')}
          </Title>
          <Text c="dimmed" size="sm">
            {t('changes_lead')}
          </Text>
        </div>
        {total > 0 && (
          <Button
            variant="default"
            leftSection={<Undo2 size={16} aria-hidden />}
            onClick={() => setDiscarding(true)}
          >
            {t('discard_all')}
          </Button>
        )}
      </Group>
      {failure}
      <DriftNotice />
      {nothing && plan.data !== undefined ? (
        <Paper withBorder>
          <Empty icon={<CheckCheck size={32} aria-hidden />} title={t('no_changes')}>
            <Text c="dimmed" size="sm">
              {t('no_changes_text', { version: formatNumber(draft.data.version) })}
            </Text>
            <Button component={Link} href={PAGE_PATHS.config} variant="light">
              {t('configuration')}
            </Button>
          </Empty>
        </Paper>
      ) : (
        <>
          {checked.data !== undefined && !checked.data.valid && (
            <InvalidDraft findings={checked.data.findings} />
          )}
          <ApplyCard
            draft={plan.data?.draft ?? null}
            drift={changed}
            restart={files.filter((file) => file.restart).map((file) => file.name)}
            // The applied draft is the one shown: an outdated plan blocks.
            blocked={checked.data?.valid !== true || plan.isFetching || checked.isFetching}
          />
          <section aria-labelledby="objects-changed">
            <Title order={2} size="h4" mb="sm" id="objects-changed">
              {t('objects_changed', { count: total, number: formatNumber(total) })}
            </Title>
            {plan.data === undefined ? (
              plan.isPending && <Loading />
            ) : (
              <ObjectChanges changes={plan.data.objects.list} beside={author} />
            )}
            {plan.data !== undefined && plan.data.objects.count > plan.data.objects.list.length && (
              <Text size="sm" c="dimmed" mt="xs">
                {t('and_more', { count: plan.data.objects.count - plan.data.objects.list.length })}
              </Text>
            )}
          </section>
          {plan.data !== undefined && <FilesChanged plan={plan.data} />}
        </>
      )}
      {discarding && <DiscardAll total={total} onClose={() => setDiscarding(false)} />}
    </Stack>
  );
}
const InvalidDraft = ({ findings }: Pick<Checked, 'findings'>): ReactNode => (
  <Note role="alert" tone="alert" title={t('invalid_draft')}>
    <List size="sm" spacing={4}>
      {findings.map((finding, i) => (
        <List.Item key={i}>
          <FindingText finding={finding} />
        </List.Item>
      ))}
    </List>
  </Note>
);
const FilesChanged = ({ plan: { files, findings, notices } }: { readonly plan: Plan }): ReactNode => (
  <section aria-labelledby="files-changed">
    <Title order={2} size="h4" id="files-changed">
      {t('files_changed', { count: files.length, number: formatNumber(files.length) })}
    </Title>
    <Text size="sm" c="dimmed" mb="sm">
      {t('files_lead')}
    </Text>
    {findings.length > 0 && (
      <Note role="alert" tone="alert" title={t('would_be_rejected')} mb="sm">
        <List size="sm">
          {findings.map((finding, i) => (
            <List.Item key={i}>
              {finding.object !== null && `${finding.object}: `}
              {finding.words}
            </List.Item>
          ))}
        </List>
      </Note>
    )}
    {notices.length > 0 && (
      <Note tone="warn" title={t('would_be_noticed')} mb="sm">
        <List size="sm">
          {notices.map((notice, i) => (
            <List.Item key={i}>
              {notice.object !== null && `${notice.object}: `}
              {notice.words}
            </List.Item>
          ))}
        </List>
      </Note>
    )}
    <Stack gap="sm">
      {files.map((file) => (
        <Diff key={file.name} name={file.name} diff={file.diff}>
          {file.restart && <Tag tone="warn">{t('needs_restart')}</Tag>}
          {file.truncated && (
            <Badge variant="default" tt="none">
              {t('shortened')}
            </Badge>
          )}
        </Diff>
      ))}
    </Stack>
  </section>
);
function DiscardOne({ change }: { readonly change: ObjectChange }): ReactNode {
  const client = useClient();
  const renew = useRenewed();
  const discard = useOnce({
    mutationFn: () => client.config.discardObject(change.kind, change.key),
    onError(caught) {
      const [finding] = caught instanceof OffhookError ? (caught.problem?.findings ?? []) : [];
      say(
        finding === undefined
          ? t('discard_failed')
          : `${t('discard_failed')} ${kindName(finding.kind)} ${finding.key}: ${finding.detail}`,
        true,
      );
    },
    onSettled: renew,
  });
  return (
    <Button
      size="compact-sm"
      variant="default"
      loading={discard.isPending}
      onClick={() => discard.mutate()}
      aria-label={t('discard_of', { name: `${kindName(change.kind)} ${change.key}` })}
    >
      {t('discard')}
    </Button>
  );
}
function DiscardAll({ total, onClose }: { readonly total: number; readonly onClose: () => void }): ReactNode {
  const client = useClient();
  const renew = useRenewed();
  const discard = useOnce({
    mutationFn: () => client.config.discard(),
    async onSuccess() {
      await renew();
      onClose();
    },
  });
  return (
    <Modal opened onClose={onClose} title={t('discard_all')}>
      <Stack gap="sm">
        <Text size="sm">{t('discard_all_text', { count: total, number: formatNumber(total) })}</Text>
        {discard.isError && <Failure error={discard.error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            {t('cancel')}
          </Button>
          <Button color="red" loading={discard.isPending} onClick={() => discard.mutate()}>
            {t('discard_all')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
