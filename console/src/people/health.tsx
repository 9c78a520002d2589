import { useState } from 'react';
import type { ReactNode } from 'react';
import { Alert, Anchor, Badge, Paper, SimpleGrid, Table, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { CircleAlert, CircleCheck } from 'lucide-react';
import { Link } from 'wouter';
import type { ApplyState, ConfigApply } from '@offhook/contract/config-applies.ts';
import type { Readiness } from '@offhook/contract/health.ts';
import { formatDateTime, formatNumber } from '../app/format.ts';
import { useClient } from '../app/session.tsx';
import { Loading, Read } from '../app/states.tsx';
import { ZoneNote } from '../app/zone.tsx';
import { PAGE_PATHS } from '../app/paths.ts';
import { BlockedNetworks } from './blocked-networks.tsx';
import { CHECK_NAMES } from './check-names.ts';
import { LAG, figuresOf, lagOf, trunkTroublesOf } from './health-texts.ts';
import { SiteNodes } from './site-nodes.tsx';
import { Ago, Facts, Mark, PageHead, Rows, Section } from '../app/page-parts.tsx';
import { TrunkStates } from '../app/trunk-states.tsx';
import { useStream } from '../app/use-stream.ts';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('system');
/** Reason for a missing engine; a text without translation stays unchanged. */
const reasonText = wordsOf('engine-reasons') as (said: string) => string;

/** State of the engine in the stream's snapshot. */
interface EngineState {
  readonly node: string;
  readonly up: boolean;
  readonly link: string;
  readonly reason: string;
  readonly since: string;
}
/** The engine's present state; other events of the system reload the rest of the page. */
function useEngine(): EngineState | null {
  const queries = useQueryClient();
  const [engine, setEngine] = useState<EngineState | null>(null);
  const renew = (): void => void queries.invalidateQueries({ queryKey: ['health'] });
  useStream('system,config', {
    snapshot: true,
    onItem(item) {
      if (item.type === 'snapshot' && item.topic === 'system') {
        setEngine((item.data as { engine: EngineState }).engine);
        // A change between the page's first request and this subscription is in neither.
        renew();
      } else if ('data' in item && item.type.startsWith('engine.')) {
        renew();
        if (item.type === 'engine.link_down')
          setEngine(
            (was) => was && { ...was, up: false, link: 'down', reason: item.data.reason, since: item.time },
          );
        if (item.type === 'engine.resynced')
          setEngine((was) => was && { ...was, up: true, link: 'up', reason: '', since: item.time });
      } else if (item.type === 'network.blocked' || item.type === 'network.released') renew();
      else if (item.type === 'config.applied' || item.type === 'config.rolled_back') renew();
    },
  });
  return engine;
}
/** A service that is not ready answers 503 with the reasons, which is no error here. */
const readiness = async (signal: AbortSignal): Promise<Readiness> =>
  (await (await fetch('/readyz', { signal })).json()) as Readiness;
const figures = async (signal: AbortSignal): Promise<ReadonlyMap<string, number>> => {
  const response = await fetch('/metrics', { signal });
  if (!response.ok) throw new TypeError('the metrics cannot be read');
  return figuresOf(await response.text());
};
const SHOWN = [
  ['calls', 'offhook_calls'],
  ['journal_head', 'offhook_journal_head'],
  ['journal_held', 'offhook_journal_held'],
  ['stream_clients', 'offhook_stream_clients'],
  ['webhooks', 'offhook_webhooks'],
  ['webhooks_retrying', 'offhook_webhooks_retrying'],
  ['webhooks_parked', 'offhook_webhooks_parked'],
  ['reconnects', 'offhook_engine_reconnects'],
  ['calls_refused', 'offhook_calls_refused'],
] as const;

const checkName = (name: string): string => {
  const known = CHECK_NAMES.find((one) => one === name);
  return known === undefined ? name : t(`check_${known}`);
};
const OLD_DAYS = 30;
/** Age of the engine's packages, and the possible actions; null for any other detail. */
function packagesText(detail: string): string | null {
  const own = /^of this machine: (.+)$/.exec(detail)?.[1];
  if (own !== undefined) return t('packages_own', { path: own });
  const aged = /^(\d+) days old, of (\d{4}-\d\d-\d\d)(?:, newer ones (wait|did not start: ([^]*)))?/.exec(
    detail,
  );
  if (aged === null) return null;
  const [, days = '', date = '', more = '', why = ''] = aged;
  const parts = [t('packages_age', { n: formatNumber(Number(days)), date })];
  if (more === 'wait') parts.push(t('packages_waiting'));
  else if (why !== '') parts.push(t('packages_refused', { why }));
  else if (Number(days) >= OLD_DAYS) parts.push(t('packages_update'));
  return parts.join(' · ');
}
/** Differences between call records and journal, and the newest time unknown to both. */
function differText([, differences, gaps, from, to, node]: readonly (string | undefined)[]): string {
  const counts = t('records_differ', {
    n: formatNumber(Number(differences)),
    gaps: formatNumber(Number(gaps)),
  });
  if (from === undefined || to === undefined) return counts;
  const newest = t('newest_gap', { from: formatDateTime(from), to: formatDateTime(to) });
  return [counts, newest, ...(node === undefined ? [] : [node])].join(' · ');
}
/** Details of a fixed form, with the values in them. */
const FORMS: readonly (readonly [form: RegExp, text: (values: readonly string[]) => string])[] = [
  [/^(?:none|no ACME server) is used$/, () => t('not_used')],
  [/^not known yet$/, () => t('not_known')],
  [/^no trunk has SRV records$/, () => t('no_srv')],
  [
    /^no outbound route of class emergency for (.+)$/,
    ([numbers = '']) => t('no_emergency_route', { numbers }),
  ],
  [/^no write was lost in the last day$/, () => t('no_write_lost')],
  [/^not run yet: npm run doctor$/, () => t('ways_unchecked')],
  [/^the first order is under way$/, () => t('order_first')],
  [/^next order at (\S+)$/, ([time = '']) => t('order_next', { time: formatDateTime(time) })],
  [/^fixed: (\S+)$/, ([address = '']) => t('address_fixed', { address })],
  [/^answers at (\S+)$/, ([address = '']) => t('answers_at', { address })],
  [/^all ways work \([^)]*\), (\S+)$/, ([time = '']) => t('ways_work', { time: formatDateTime(time) })],
  [
    /^(\d+) days left, issued by (.+)$/,
    ([n, by = '']) => t('certificate_days', { n: formatNumber(Number(n)), by }),
  ],
  [
    /^(\d+) of (\d+) file descriptors$/,
    ([n, m]) => t('descriptors_used', { n: formatNumber(Number(n)), m: formatNumber(Number(m)) }),
  ],
];
function formText(detail: string): string | null {
  for (const [form, text] of FORMS) {
    const found = form.exec(detail);
    if (found !== null) return text(found.slice(1));
  }
  return null;
}
/** Text of a check's detail; zero values of the journal's lag are left out. */
function detailText(detail: string): string {
  const lag = lagOf(detail);
  if (lag !== null) {
    const parts = LAG.flatMap((name) => {
      const n = lag[name] ?? 0;
      return n === 0 ? [] : [t(`lag_${name}`, { n: typeof n === 'number' ? formatNumber(n) : n })];
    });
    return parts.join(' · ');
  }
  const fixed = formText(detail);
  if (fixed !== null) return fixed;
  const version = /^up, (.+)$/.exec(detail)?.[1];
  if (version !== undefined) return t('asterisk', { version });
  const packages = packagesText(detail);
  if (packages !== null) return packages;
  const free = /^(\d+) MiB free$/.exec(detail)?.[1];
  if (free !== undefined) return t('free', { n: formatNumber(Number(free)) });
  const ms = /^answered (?:\d+ )?in (\d+) ms$/.exec(detail)?.[1];
  if (ms !== undefined) return t('answered_in', { n: formatNumber(Number(ms)) });
  if (detail === 'written') return t('written');
  const waiting = /^(\d+) wait in /.exec(detail)?.[1];
  if (waiting !== undefined) return t('tasks_waiting', { n: formatNumber(Number(waiting)) });
  const fenced = /^nftables: (?:(\d+) networks|(.+))$/.exec(detail);
  if (fenced !== null) {
    const [, n, why = ''] = fenced;
    return n === undefined ? t('firewall_not', { why }) : t('firewall_has', { n: formatNumber(Number(n)) });
  }
  const [, requests, addresses] = /^(\d+) in the last minute from (\d+)$/.exec(detail) ?? [];
  if (requests !== undefined)
    return t('refusals', {
      count: Number(addresses),
      n: formatNumber(Number(requests)),
      m: formatNumber(Number(addresses)),
    });
  if (detail === 'no answer in 2 s') return t('no_answer');
  if (detail === 'call records and journal agree') return t('records_agree');
  const differ =
    /^in the last day: (\d+) conversations differ, (\d+) gaps(?:, the newest (\S+) to (\S+)(?: at (\S+))?)?$/.exec(
      detail,
    );
  if (differ !== null) return differText(differ);
  const troubles = trunkTroublesOf(detail);
  if (troubles !== null)
    return troubles
      .map(({ reason, name, since }) => t(`trunk_${reason}`, { name, time: formatDateTime(since) }))
      .join(' · ');
  return reasonText(detail.replace(/^\w+: /, ''));
}
const COLORS = { ok: 'green', warn: 'yellow', alert: 'red' } as const;
function Checks(): ReactNode {
  const ready = useQuery({
    queryKey: ['health', 'ready'],
    queryFn: ({ signal }) => readiness(signal),
    // No event reports that a check passes again.
    refetchInterval: ({ state }) => (state.data?.status === 'ready' ? 30_000 : 5_000),
  });
  return <Read of={ready}>{(data) => <CheckRows {...data} />}</Read>;
}
function CheckRows({ status, checks, details }: Awaited<ReturnType<typeof readiness>>): ReactNode {
  // The service is ready while a check fails that calls do not need.
  const [tone, title] =
    status !== 'ready'
      ? (['alert', 'not_ready'] as const)
      : Object.values(checks).every((state) => state === 'ok')
        ? (['ok', 'ready'] as const)
        : (['warn', 'ready_partly'] as const);
  return (
    <>
      <Alert
        role="status"
        mb="md"
        color={COLORS[tone]}
        variant="light"
        icon={tone === 'ok' ? <CircleCheck size={20} aria-hidden /> : <CircleAlert size={20} aria-hidden />}
        title={t(title)}
        styles={{ title: { color: `var(--offhook-${tone})` } }}
      />
      <Section title={t('checks')}>
        <Rows caption={t('checks')} minWidth={420} folds columns={[t('check'), t('state'), t('detail')]}>
          {Object.entries(checks).map(([name, state]) => (
            <Table.Tr key={name}>
              <Table.Td>{checkName(name)}</Table.Td>
              <Table.Td>
                <Mark ok={state === 'ok'} yes={t('good')} no={t('failing')} />
              </Table.Td>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>
                <Text size="sm">{detailText(details?.[name] ?? '') || '–'}</Text>
              </Table.Td>
            </Table.Tr>
          ))}
        </Rows>
      </Section>
    </>
  );
}
const OUTCOMES = {
  applied: 'green',
  cancelled: 'gray',
  rolled_back: 'yellow',
  rejected: 'red',
  failed: 'red',
  running: 'blue',
} as const;
/** Result of an apply; its steps are on its own page. */
const outcomeOf = (state: ApplyState): keyof typeof OUTCOMES =>
  state in OUTCOMES ? (state as keyof typeof OUTCOMES) : 'running';
function Applies(): ReactNode {
  const client = useClient();
  const list = useQuery({
    queryKey: ['health', 'applies'],
    queryFn: ({ signal }) => client.config.applies({ limit: 5 }, signal),
  });
  const shown = (applies: readonly ConfigApply[]): ReactNode => (
    <Section title={t('applies')}>
      <ZoneNote />
      <Rows
        caption={t('applies')}
        minWidth={520}
        folds
        columns={[t('time'), t('who'), t('state'), t('comment')]}
      >
        {applies.map((apply) => (
          <Table.Tr key={apply.id}>
            <Table.Td>
              <Anchor component={Link} href={PAGE_PATHS.apply.replace(':apply', String(apply.id))}>
                {formatDateTime(apply.started_at)}
              </Anchor>
            </Table.Td>
            <Table.Td>{apply.author}</Table.Td>
            <Table.Td>
              <Badge
                variant="dot"
                tt="none"

                color={OUTCOMES[outcomeOf(apply.state)]}
              >
                {t(`apply_${outcomeOf(apply.state)}`)}
              </Badge>
            </Table.Td>
            <Table.Td style={{ overflowWrap: 'anywhere' }}>{apply.comment ?? '–'}</Table.Td>
          </Table.Tr>
        ))}
      </Rows>
    </Section>
  );
  return (
    <Read of={list} quiet>
      {({ applies }) => applies.length > 0 && shown(applies)}
    </Read>
  );
}
function Figures(): ReactNode {
  const read = useQuery({ queryKey: ['health', 'figures'], queryFn: ({ signal }) => figures(signal) });
  return <Read of={read}>{(metrics) => <FigureCards metrics={metrics} />}</Read>;
}
function FigureCards({ metrics }: { readonly metrics: Awaited<ReturnType<typeof figures>> }): ReactNode {
  const memory = metrics.get('process_resident_memory_bytes');
  const shown = SHOWN.flatMap(([name, metric]) => {
    const value = metrics.get(metric);
    return value === undefined ? [] : [[t(name), formatNumber(value)] as const];
  });
  if (memory !== undefined) shown.push([t('memory'), t('mib', { n: formatNumber(memory / 1_048_576) })]);
  return (
    <Section title={t('figures')}>
      <SimpleGrid cols={{ base: 2, sm: 3, lg: 5 }}>
        {shown.map(([name, value]) => (
          <Paper key={name} withBorder p="sm">
            <Text size="xs" c="dimmed">
              {name}
            </Text>
            <Text size="xl" fw={650}>
              {value}
            </Text>
          </Paper>
        ))}
      </SimpleGrid>
    </Section>
  );
}
/** State of the service and its parts. */
export function HealthPage(): ReactNode {
  const client = useClient();
  const engine = useEngine();
  const ping = useQuery({ queryKey: ['health', 'ping'], queryFn: ({ signal }) => client.ping(signal) });
  return (
    <>
      <PageHead title={t('health')} lead={t('health_lead')} />
      <Checks />
      <SiteNodes />
      <Section title={t('engine')}>
        {engine === null ? (
          <Loading />
        ) : (
          <Facts
            facts={[
              [t('state'), <Mark key="state" ok={engine.up} yes={t('connected')} no={t('not_connected')} />],
              [t('since'), <Ago key="since" time={engine.since} never="–" />],
              [t('node'), engine.node],
              ...(engine.reason === '' ? [] : [[t('reason'), reasonText(engine.reason)] as const]),
              [t('version'), ping.data?.version ?? '–'],
            ]}
          />
        )}
      </Section>
      <TrunkStates />
      <BlockedNetworks />
      <Figures />
      <Applies />
    </>
  );
}
