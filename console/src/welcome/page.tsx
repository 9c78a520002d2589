import { useState } from 'react';
import type { ReactNode } from 'react';
import {
  Button,
  Group,
  Paper,
  Progress,
  SimpleGrid,
  Stack,
  Text,
  Title,
  UnstyledButton,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Check, ChevronDown, CircleCheck } from 'lucide-react';
import { Link } from 'wouter';
import { useTopic } from '../app/live.ts';
import { useClient, useMe } from '../app/session.tsx';
import { Failure, Loading } from '../app/states.tsx';
import { isDismissed, setDismissed } from './dismissed.ts';
import { CallStep, OwnPhoneStep, PeopleStep, SecondPhoneStep, WallboardStep } from './parts.tsx';
import { STEPS, doneSteps } from './steps.ts';
import type { Step } from './steps.ts';
import { useStream } from '../app/use-stream.ts';
import { wordsOf } from '../app/words.ts';
import styles from './welcome.module.css';

const t = wordsOf('welcome');

/** True if the engine is connected, by the stream; null before its snapshot. */
function useEngineUp(): boolean | null {
  const [up, setUp] = useState<boolean | null>(null);
  useStream('system', {
    snapshot: true,
    onItem(item) {
      if (item.type === 'snapshot') setUp((item.data as { engine: { up: boolean } }).engine.up);
      else if (item.type === 'engine.link_down') setUp(false);
      else if (item.type === 'engine.resynced') setUp(true);
    },
  });
  return up;
}
interface StepProps {
  readonly step: Step;
  readonly number: number;
  readonly done: boolean;
  readonly opened: boolean;
  readonly onToggle: () => void;
  readonly children: ReactNode;
}
const StepCard = ({ step, number, done, opened, onToggle, children }: StepProps): ReactNode => (
  <Paper component="li" withBorder className={styles.step} data-step={step} data-done={done || undefined}>
    <Title order={2} size="h5">
      <UnstyledButton className={styles.head ?? ''} aria-expanded={opened} onClick={onToggle}>
        <span className={styles.number} aria-hidden>
          {done ? <Check size={16} /> : number}
        </span>
        <span className={styles.grow}>{t(step)}</span>
        <span className={styles.state}>{t(done ? 'done' : 'open')}</span>
        <ChevronDown size={16} aria-hidden className={styles.chevron} data-opened={opened || undefined} />
      </UnstyledButton>
    </Title>
    {opened && <div className={styles.body}>{children}</div>}
  </Paper>
);
const NEXT = [
  ['trunk', 'trunks'],
  ['queue', 'queues'],
  ['menu', 'menus'],
] as const;
function Next(): ReactNode {
  const client = useClient();
  const { data, error, refetch } = useQuery({
    queryKey: ['welcome', 'next'],
    queryFn: async ({ signal }) =>
      await Promise.all(
        NEXT.map(async ([, kind]) => (await client.config.list(kind, { limit: 1 }, signal)).total),
      ),
  });
  return (
    <section aria-label={t('next')}>
      <Title order={2} size="h4" mb="sm">
        {t('next')}
      </Title>
      {error !== null && <Failure error={error} onRetry={() => void refetch()} />}
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        {NEXT.map(([one, kind], i) => {
          const count = data?.[i] ?? 0;
          return (
            <Paper key={one} withBorder p="md">
              <Stack gap="xs" h="100%" justify="space-between">
                <div>
                  <Title order={3} size="h5">
                    {t(one)}
                  </Title>
                  <Text size="sm" c="dimmed">
                    {t(`${one}_text`)}
                  </Text>
                </div>
                {count > 0 && (
                  <Group gap={6} c="var(--offhook-ok)" wrap="nowrap">
                    <CircleCheck size={16} aria-hidden />
                    <Text size="sm">{t(kind, { count })}</Text>
                  </Group>
                )}
                <div>
                  <Button
                    component={Link}
                    href={`/admin/config/${kind}${count > 0 ? '' : '?new'}`}
                    variant="default"
                  >
                    {t(count > 0 ? 'look' : 'set_up')}
                  </Button>
                </div>
              </Stack>
            </Paper>
          );
        })}
      </SimpleGrid>
    </section>
  );
}

/** First steps of a new site up to the first call. */
export function WelcomePage(): ReactNode {
  const client = useClient();
  const me = useMe();
  const engineUp = useEngineUp();
  const presence = useTopic('presence');
  const calls = useTopic('calls');
  const queues = useTopic('queues');
  const talked = useQuery({
    queryKey: ['welcome', 'talked'],
    queryFn: async ({ signal }) =>
      await client.conversations.list({ direction: 'internal', disposition: 'answered', limit: 1 }, signal),
  });
  // A finished call is no longer live, and the history was read before it.
  const [talkedHere, setTalkedHere] = useState(false);
  const [dismissed, setGone] = useState(() => isDismissed(me.extension));
  const [chosen, setChosen] = useState<Step | null | undefined>(undefined);
  const failure = talked.isError && <Failure error={talked.error} onRetry={() => void talked.refetch()} />;
  if (!presence.state.ready || !queues.state.ready || engineUp === null || talked.data === undefined)
    return failure || <Loading />;
  const done = doneSteps({
    me: me.extension,
    engineUp,
    presence: presence.records,
    calls: calls.records.values(),
    queues: queues.records.values(),
    talkedBefore: talkedHere || talked.data.conversations.length > 0,
  });
  if (done.call && !talkedHere) setTalkedHere(true);
  const count = STEPS.filter((step) => done[step]).length;
  // The next step is open until another is opened.
  const opened = chosen === undefined ? STEPS.find((step) => !done[step]) : chosen;
  const content: Readonly<Record<Step, ReactNode>> = {
    engine: (
      <>
        <Text size="sm">{t(engineUp ? 'engine_up' : 'engine_down')}</Text>
        <Button component={Link} href="/admin/health" variant="default">
          {t('health')}
        </Button>
      </>
    ),
    people: <PeopleStep presence={presence.records} />,
    own_phone: <OwnPhoneStep done={done.own_phone} />,
    second_phone: <SecondPhoneStep />,
    call: <CallStep presence={presence.records} done={done.call} />,
    wallboard: <WallboardStep queues={[...queues.records.values()]} />,
  };
  return (
    <Stack gap="lg" maw={920} mx="auto">
      <Group justify="space-between" align="flex-end">
        <div>
          <Title order={1} size="h2">
            {t('title')}
          </Title>
          <Text size="sm" c="dimmed">
            {t('lead')}
          </Text>
        </div>
        <Button
          variant="default"
          onClick={() => {
            setDismissed(me.extension, !dismissed);
            setGone(!dismissed);
          }}
        >
          {t(dismissed ? 'restore' : 'dismiss')}
        </Button>
      </Group>
      {failure}
      {dismissed && (
        <Text size="sm" role="status">
          {t('dismissed')}
        </Text>
      )}
      <div>
        <Text size="sm" fw={600} mb={6} role="status">
          {t('progress', { done: count, all: STEPS.length })}
        </Text>
        <Progress value={(100 * count) / STEPS.length} aria-label={t('title')} />
      </div>
      <ol className={styles.steps}>
        {STEPS.map((step, i) => (
          <StepCard
            key={step}
            step={step}
            number={i + 1}
            done={done[step]}
            opened={opened === step}
            onToggle={() => setChosen(opened === step ? null : step)}
          >
            <Stack gap="sm" align="flex-start">
              {content[step]}
            </Stack>
          </StepCard>
        ))}
      </ol>
      <Next />
    </Stack>
  );
}
