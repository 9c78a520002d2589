/** One apply with its progress from the stream; after a failure, the reason and the remedy. */
import type { ReactNode } from 'react';
import { Anchor, Button, Group, List, Paper, Progress, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ApplyState, ConfigApply } from '@offhook/contract/config-applies.ts';
import { Check, CircleDashed, LoaderCircle, X } from 'lucide-react';
import { Link } from 'wouter';
import { formatDateTime, formatNumber } from '../app/format.ts';
import { useOnce } from '../app/once.ts';
import { useClient } from '../app/session.tsx';
import { Failure, Read } from '../app/states.tsx';
import { ZoneNote } from '../app/zone.tsx';
import { PAGE_PATHS } from '../app/paths.ts';
import { ObjectLink } from './object-form.tsx';
import { PendingBadge } from './pending.tsx';
import { Note, Tag } from './tone.tsx';
import type { Tone } from './tone.tsx';
import { wordsOf } from '../app/words.ts';
import styles from './admin.module.css';

const t = wordsOf('admin');

const STEPS = [
  'validating',
  'planning',
  'proving',
  'writing',
  'reloading',
  'verifying',
  'committing',
] as const;
const CANCELLABLE: readonly ApplyState[] = ['validating', 'planning', 'proving'];
const TONES: Partial<Record<ApplyState, Tone>> = {
  applied: 'ok',
  rejected: 'alert',
  failed: 'alert',
  rolled_back: 'warn',
  rolling_back: 'warn',
  cancelled: 'idle',
};

export function ApplyView({ id }: { readonly id: number }): ReactNode {
  const client = useClient();
  const query = useQuery({
    queryKey: ['config', 'apply', id],
    queryFn: ({ signal }) => client.config.applyState(id, signal),
  });
  return (
    <Read of={query} back={{ href: PAGE_PATHS.versions, label: t('versions') }}>
      {({ apply }) => <Apply apply={apply} />}
    </Read>
  );
}
interface ApplyProps {
  readonly apply: ConfigApply;
}
const isOver = (apply: ConfigApply): boolean => apply.finished_at !== null;
const Apply = ({ apply }: ApplyProps): ReactNode => (
  <Stack gap="md" maw={980}>
    <ApplyHead apply={apply} />
    <div role="status" aria-live="polite">
      <Note tone={TONES[apply.state] ?? 'info'} title={t(`state_${apply.state}`)}>
        <Text size="sm">{t(`means_${apply.state}`)}</Text>
        {apply.detail !== null && apply.state !== 'applied' && (
          <Text size="sm" lang="en" mt={4}>
            {apply.detail}
          </Text>
        )}
      </Note>
    </div>
    {apply.problems.length > 0 && <ApplyProblems apply={apply} />}
    <ApplySteps apply={apply} />
    <ApplyObjects apply={apply} />
  </Stack>
);
const ApplyHead = ({ apply }: ApplyProps): ReactNode => (
  <div>
    <Anchor component={Link} href={PAGE_PATHS.changes} size="sm">
      {t('changes')}
    </Anchor>
    <Group gap="sm">
      <Title order={1} size="h2">
        {t('apply_number', { number: formatNumber(apply.id) })}
      </Title>
      <Tag size="lg" tone={TONES[apply.state] ?? 'info'}>
        {t(`state_${apply.state}`)}
      </Tag>
    </Group>
    <Text size="sm" c="dimmed">
      {t('by_at', { author: apply.author, time: formatDateTime(apply.started_at) })}
      {apply.comment !== null && ` · ${apply.comment}`}
      {apply.restores !== null && ` · ${t('restores', { version: formatNumber(apply.restores) })}`}
    </Text>
    <ZoneNote />
  </div>
);
const ApplyProblems = ({ apply }: ApplyProps): ReactNode => (
  <Paper withBorder p="md" component="section" aria-labelledby="problems">
    <Title order={2} size="h4" id="problems" mb="xs">
      {t('problems')}
    </Title>
    <List size="sm" spacing="xs">
      {apply.problems.map((problem, i) => (
        <List.Item key={i}>
          {(problem.object !== null || problem.file !== null) && (
            <Text size="sm" fw={600}>
              {[problem.object, problem.file].filter((part) => part !== null).join(' · ')}
            </Text>
          )}
          <Text size="sm" ff="monospace" lang="en" style={{ overflowWrap: 'anywhere' }}>
            {problem.words}
          </Text>
        </List.Item>
      ))}
    </List>
    {isOver(apply) && (
      <Text size="sm" mt="sm">
        {t(apply.state === 'failed' ? 'todo_failed' : 'todo_refused')}
      </Text>
    )}
  </Paper>
);
function ApplySteps({ apply }: ApplyProps): ReactNode {
  const client = useClient();
  const cancel = useOnce({ mutationFn: () => client.config.cancelApply(apply.id) });
  const over = isOver(apply);
  const done = new Map(apply.steps.map(({ step, ms }) => [step, ms]));
  const at = STEPS.indexOf(apply.state as (typeof STEPS)[number]);
  const steps = [
    ...STEPS,
    ...(apply.state === 'rolling_back' || done.has('rolling_back') ? (['rolling_back'] as const) : []),
  ];
  const passed = over ? steps.length : Math.max(at, done.size);
  const last = apply.steps.at(-1)?.step;
  const failed = over && apply.state !== 'applied' && last !== 'rolling_back' ? last : undefined;
  return (
    <>
      {cancel.isError && <Failure error={cancel.error} />}
      <Paper withBorder p="md" component="section" aria-labelledby="steps">
        <Group justify="space-between" mb="sm">
          <Title order={2} size="h4" id="steps">
            {t('steps')}
          </Title>
          {CANCELLABLE.includes(apply.state) && (
            <Button variant="default" size="xs" onClick={() => cancel.mutate()}>
              {t('cancel_apply')}
            </Button>
          )}
        </Group>
        {!over && <Progress value={(100 * passed) / steps.length} mb="sm" aria-label={t('steps')} />}
        <ol className={styles.steps}>
          {steps.map((step) => (
            <ApplyStep
              key={step}
              step={step}
              ms={done.get(step)}
              isNow={apply.state === step}
              isFailed={failed === step}
            />
          ))}
        </ol>
        {over && (
          <Text size="sm" c="dimmed" mt="sm">
            {t('engine_touched', { number: formatNumber(apply.engine_touched_ms) })}
            {apply.reloaded.length > 0 && ` ${apply.reloaded.join(', ')}`}
          </Text>
        )}
        {apply.restart.files.length > 0 && (
          <Note tone="warn" mt="sm" title={t('needs_restart')}>
            {t(apply.restart.asked ? 'restart_asked' : 'restart_open', {
              files: apply.restart.files.join(', '),
            })}
          </Note>
        )}
      </Paper>
    </>
  );
}
interface ApplyStepProps {
  readonly step: (typeof STEPS)[number] | 'rolling_back';
  readonly ms: number | undefined;
  readonly isNow: boolean;
  readonly isFailed: boolean;
}
function ApplyStep({ step, ms, isNow, isFailed }: ApplyStepProps): ReactNode {
  const Icon = isNow ? LoaderCircle : isFailed ? X : ms === undefined ? CircleDashed : Check;
  return (
    <li data-state={isNow ? 'now' : isFailed ? 'failed' : ms === undefined ? 'open' : 'done'}>
      <Icon size={18} aria-hidden />
      <Text size="sm" fw={isNow ? 650 : 500}>
        {t(`state_${step}`)}
      </Text>
      <Text size="xs" c="dimmed">
        {isNow
          ? t('step_now')
          : ms === undefined
            ? t('step_open')
            : t('milliseconds', { number: formatNumber(ms) })}
      </Text>
    </li>
  );
}
const ApplyObjects = ({ apply }: ApplyProps): ReactNode => (
  <Paper withBorder p="md" component="section" aria-labelledby="apply-objects">
    <Group justify="space-between" mb="xs">
      <Title order={2} size="h4" id="apply-objects">
        {t('objects_changed', { count: apply.objects.count, number: formatNumber(apply.objects.count) })}
      </Title>
      {apply.version !== null && (
        <Button
          component={Link}
          size="xs"
          variant="default"
          href={PAGE_PATHS.version.replace(':version', String(apply.version))}
        >
          {t('version_number', { version: formatNumber(apply.version) })}
        </Button>
      )}
    </Group>
    <List size="sm" spacing={4} listStyleType="none">
      {apply.objects.list.map((object) => (
        <List.Item key={`${object.kind}/${object.key}`}>
          <Group gap="xs">
            <PendingBadge pending={object.change} />
            <ObjectLink kind={object.kind} name={object.key} />
          </Group>
        </List.Item>
      ))}
    </List>
  </Paper>
);
