import { useState } from 'react';
import type { ReactNode } from 'react';
import { Alert, Box, Button, Code, Group, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Check, Copy, Download, MonitorCheck, Route } from 'lucide-react';
import { BROWSER_WAYS } from '@offhook/contract/path-check.ts';
import type { PathCheckReply, PathResult } from '@offhook/contract/path-check.ts';
import { CopyButton } from '../app/copy.ts';
import { saveFile } from '../admin/save-file.ts';
import { useChanges } from '../app/changes.ts';
import { fieldsWith } from '../app/field-errors.ts';
import { formatDateTime, formatNumber } from '../app/format.ts';
import { useOnce } from '../app/once.ts';
import { Ago, Mark, PageHead, Section, useChange } from '../app/page-parts.tsx';
import { useClient } from '../app/session.tsx';
import { Empty, Failure, Read } from '../app/states.tsx';
import { tellFailure } from '../app/tell.ts';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('paths');
const KEY = 'path-check';
/** Only while a check runs: its progress is in no event. */
const FOLLOW_MS = 1_000;
const COMMAND = 'npm run doctor -- --from pass.json';

/** The last results, read again after each check. */
function usePaths() {
  const client = useClient();
  useChanges(['system'], 'path_check.', KEY);
  return useQuery({
    queryKey: [KEY],
    queryFn: ({ signal }) => client.pathCheck.get(signal),
    refetchInterval: ({ state }) => (state.data?.running ? FOLLOW_MS : false),
  });
}
/** A reason of a fixed form; any other is as the service or the other side wrote it. */
function said(reason: string): string {
  const seconds = /^no answer in (\d+) s$/.exec(reason)?.[1];
  return seconds === undefined ? reason : t('late', { n: formatNumber(Number(seconds)) });
}
/** Result of a way in the language of the reader; a fault without a translation stays as the service wrote it. */
function Result({ ok, fault, values, detail, since }: PathResult): ReactNode {
  if (ok) return <Text size="sm">{t('fine')}</Text>;
  const [what, remedy] = [`fault_${fault}`, `remedy_${fault}`];
  return (
    <Stack gap={2}>
      <Text size="sm" fw={500}>
        {t.has(what) ? t(what, { ...values, reason: said(values['reason'] ?? '') }) : detail}
      </Text>
      {t.has(remedy) && <Text size="sm">{t(remedy)}</Text>}
      <Text size="xs" c="dimmed">
        {t('since', { time: formatDateTime(since) })}
      </Text>
    </Stack>
  );
}
/** A list instead of a table, because on a narrow page the sentence needs the width. */
function Ways({
  ways,
  caption,
}: {
  readonly ways: readonly PathResult[];
  readonly caption: string;
}): ReactNode {
  if (ways.length === 0) return <Empty title={t('not_checked')}>{t('not_checked_text')}</Empty>;
  return (
    <Stack component="ul" gap={0} m={0} p={0} aria-label={caption} style={{ listStyle: 'none' }}>
      {ways.map((result) => (
        <Box
          component="li"
          key={result.way}
          py="sm"
          style={{ borderTop: '1px solid var(--offhook-line)', overflowWrap: 'anywhere' }}
        >
          <Group justify="space-between" gap="xs" mb={2}>
            <Text fw={600} flex="1 1 12rem">
              {t(`way_${result.way}`)}
            </Text>
            <Group gap="md" wrap="nowrap">
              <Mark ok={result.ok} yes={t('works')} no={t('fails')} />
              <Ago time={result.checked_at} never="–" />
            </Group>
          </Group>
          <Result {...result} />
        </Box>
      ))}
    </Stack>
  );
}
const ofBrowser = ({ way }: PathResult): boolean => BROWSER_WAYS.some((one) => one === way);

function FromService({ state }: { readonly state: PathCheckReply }): ReactNode {
  const client = useClient();
  const { running, failed, ways } = state;
  const start = useChange<PathCheckReply, void>(() => client.pathCheck.start(), { renews: [KEY] });
  return (
    <Section
      title={t('service')}
      text={t('service_text')}
      actions={
        <Button
          leftSection={<Route size={16} aria-hidden />}
          loading={start.isPending || running !== null}
          onClick={() => void start.mutateAsync().catch(tellFailure)}
        >
          {t('check_now')}
        </Button>
      }
    >
      <Text size="sm" role="status" mb={running === null ? 0 : 'sm'}>
        {running === null ? '' : t('checking', { n: formatNumber(running.done.length) })}
      </Text>
      {failed !== null && (
        <Alert color="red" variant="light" mb="sm">
          {t('could_not_run', { why: failed })}
        </Alert>
      )}
      <Ways ways={ways.filter((one) => !ofBrowser(one))} caption={t('service')} />
    </Section>
  );
}
function FromBrowser({ state }: { readonly state: PathCheckReply }): ReactNode {
  const client = useClient();
  const check = useChange<void, void>(async () => (await import('./browser-path.ts')).checkBrowser(client), {
    renews: [KEY],
  });
  return (
    <Section
      title={t('browser')}
      text={t('browser_text')}
      actions={
        <Button
          variant="default"
          leftSection={<MonitorCheck size={16} aria-hidden />}
          loading={check.isPending}
          onClick={() => void check.mutateAsync().catch(tellFailure)}
        >
          {t('check_browser')}
        </Button>
      }
    >
      <Ways ways={state.ways.filter(ofBrowser)} caption={t('browser')} />
    </Section>
  );
}
const Command = ({ text }: { readonly text: string }): ReactNode => (
  <Group gap="xs" wrap="nowrap">
    <Code block flex={1} style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
      {text}
    </Code>
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Button
          variant="default"
          leftSection={copied ? <Check size={16} aria-hidden /> : <Copy size={16} aria-hidden />}
          onClick={copy}
        >
          {t(copied ? 'copied' : 'copy')}
        </Button>
      )}
    </CopyButton>
  </Group>
);
function FromElsewhere(): ReactNode {
  const client = useClient();
  const [host, setHost] = useState('');
  const create = useOnce({
    mutationFn: (name: string) => client.pathCheck.pass({ host: name === '' ? null : name }),
    onSuccess: ({ pass }) => saveFile('pass.json', 'application/json', JSON.stringify(pass, null, 2)),
  });
  const labels = { host: t('host') };
  return (
    <Section title={t('elsewhere')} text={t('elsewhere_text')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate(host.trim());
        }}
      >
        <Group align="flex-end" gap="sm">
          <TextInput
            {...fieldsWith(create.error, labels)('host')}
            description={t('host_hint')}
            value={host}
            maxLength={253}
            flex="1 1 16rem"
            maw={420}
            onChange={(event) => setHost(event.currentTarget.value)}
          />
          <Button
            type="submit"
            variant="default"
            leftSection={<Download size={16} aria-hidden />}
            loading={create.isPending}
          >
            {t('create_pass')}
          </Button>
        </Group>
      </form>
      {create.isError && <Failure error={create.error} labels={labels} />}
      {create.isSuccess && create.data !== undefined && (
        <Stack gap="xs" mt="md" role="status">
          <Text size="sm">{t('pass_made')}</Text>
          <Command text={COMMAND} />
          <Text size="sm" c="dimmed">
            {t('pass_secret', { time: formatDateTime(create.data.expires_at) })}
          </Text>
        </Stack>
      )}
    </Section>
  );
}
/** Whether phones and browsers reach the exchange, each way tried by a call. */
export function PathCheckPage(): ReactNode {
  const read = usePaths();
  return (
    <>
      <PageHead title={t('title')} lead={t('lead')} />
      <Read of={read}>
        {(state) => (
          <>
            <FromService state={state} />
            <FromBrowser state={state} />
          </>
        )}
      </Read>
      <FromElsewhere />
    </>
  );
}
