import { useState } from 'react';
import type { ReactNode } from 'react';
import {
  Alert,
  Anchor,
  Badge,
  Button,
  Group,
  Paper,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Text,
  Title,
  Tooltip,
  VisuallyHidden,
} from '@mantine/core';
import { ArrowLeft, ArrowRight, Phone } from 'lucide-react';
import { Link } from 'wouter';
import type { Conversation } from '@offhook/contract/conversations.ts';
import { BlockCaller } from '../app/block-caller.tsx';
import { formatDateTime, formatClock, formatNumber, formatPercent, formatSpan } from '../app/format.ts';
import { useSince } from '../app/now.ts';
import { queueName } from '../app/queue-names.ts';
import { decoded } from '../app/decoded.ts';
import { useMay, useMe } from '../app/session.tsx';
import { Empty, Failure, Loading, isMissing } from '../app/states.tsx';
import type { PageProps } from '../pages.tsx';
import { talkSpan } from '../app/talk-span.ts';
import { CourseTable } from './course-table.tsx';
import { listAddress } from './last-list.ts';
import { Notes, Outcome } from './notes.tsx';
import { PartyText, colourOf, dispositionText, iconOf, nameOf } from './party.tsx';
import { callBackOf, mayAddTo, sidesOf } from './sides.ts';
import { Recordings } from './player.tsx';
import { Timeline } from './timeline.tsx';
import { useCall } from './use-call.ts';
import { useConversation } from './use-conversation.ts';
import { ZoneNote } from '../app/zone.tsx';
import { wordsOf } from '../app/words.ts';
import styles from './conversation.module.css';

const t = wordsOf('conversation');
const say = wordsOf('history');
const causes = wordsOf('causes');

/** Q.850 causes with a text: the network's reasons for the end of a call. */
const CAUSES = [
  1, 3, 16, 17, 18, 19, 20, 21, 22, 26, 27, 28, 31, 34, 38, 41, 42, 50, 58, 88, 102, 127,
] as const;
/** e.g. `normal end (16)`. */
function causeText(code: number): string {
  const known = CAUSES.find((one) => one === code);
  return known === undefined ? causes('other', { code }) : `${causes(`c${known}`)} (${code})`;
}

interface Props {
  readonly conversation: Conversation;
}
const Card = ({
  title,
  aside,
  children,
}: {
  readonly title: string;
  readonly aside?: ReactNode;
  readonly children: ReactNode;
}): ReactNode => (
  <Paper component="section" withBorder p="md" aria-label={title} miw={0}>
    <Group justify="space-between" mb="sm">
      <Title order={2} size="h5">
        {title}
      </Title>
      {aside}
    </Group>
    {children}
  </Paper>
);
const Ticking = ({ since }: { readonly since: string }): ReactNode => formatSpan(useSince(since));

const FIGURES = [
  'duration',
  'wait_time',
  'ring_time',
  'talk_time',
  'hold_time',
  'park_time',
  'wrap_up_time',
  'billable',
] as const;
function Figures({ conversation: c }: Props): ReactNode {
  const shown = FIGURES.filter((name) => c[name] > 0 || name === 'duration' || name === 'talk_time');
  return (
    <div>
      <dl className={styles.figures}>
        {shown.map((name) => (
          <div key={name}>
            <dt>{t(name)}</dt>
            <dd data-figure={name}>
              {name === 'duration' && c.state === 'open' ? (
                <Ticking since={c.started_at} />
              ) : (
                formatSpan(name === 'talk_time' ? talkSpan(c) : c[name])
              )}
            </dd>
          </div>
        ))}
      </dl>
      <Text size="xs" c="dimmed" mt={6}>
        {t('sum_hint')}
      </Text>
    </div>
  );
}
function Facts({ conversation: c }: Props): ReactNode {
  const rows: (readonly [string, ReactNode])[] = [
    [t('began'), formatDateTime(c.started_at)],
    [t('answered_at'), c.answered_at === null ? '–' : formatClock(c.answered_at)],
    [t('ended_at'), c.ended_at === null ? '–' : formatClock(c.ended_at)],
    [t('dialled'), c.dialled || '–'],
  ];
  if (c.ended_by !== null) rows.push([t('ended_by'), t(`by_${c.ended_by}`)]);
  if (c.cause !== null) rows.push([t('cause'), causeText(c.cause)]);
  return (
    <dl className={styles.facts}>
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
function Parties({ conversation: { parties } }: Props): ReactNode {
  return (
    <ul className={styles.plain}>
      {parties.map((party, i) => (
        <li key={i} className={styles.party}>
          <Text size="sm" span>
            <bdi>
              <PartyText party={party} />
            </bdi>
          </Text>
          {(party.trunk ?? party.number_e164) !== null && (
            <Text size="xs" c="dimmed">
              {[party.number_e164, party.trunk].filter((part) => part !== null).join(' · ')}
            </Text>
          )}
        </li>
      ))}
    </ul>
  );
}
function Course({ conversation }: Props): ReactNode {
  const [as, setAs] = useState<'drawing' | 'table'>('drawing');
  return (
    <Card
      title={t('course')}
      aside={
        <SegmentedControl
          size="xs"
          aria-label={t('shown_as')}
          value={as}
          onChange={(value) => setAs(value as typeof as)}
          data={[
            { value: 'drawing', label: t('drawing') },
            { value: 'table', label: t('table') },
          ]}
        />
      }
    >
      {as === 'drawing' ? (
        <>
          <Timeline conversation={conversation} />
          <VisuallyHidden>
            <CourseTable conversation={conversation} scrolls={false} />
          </VisuallyHidden>
        </>
      ) : (
        <CourseTable conversation={conversation} scrolls />
      )}
    </Card>
  );
}
function Quality({ conversation: { quality, legs } }: Props): ReactNode {
  return (
    <Card title={t('quality')}>
      <ul className={styles.plain}>
        {quality.map((q) => {
          const leg = legs.find((l) => l.leg_id === q.leg_id || l.participant.extension === q.extension);
          return (
            <li key={`${q.call_id} ${q.extension} ${q.leg_id}`} className={styles.quality}>
              <Text size="sm" fw={600}>
                <bdi>{leg === undefined ? q.extension : nameOf(leg.participant)}</bdi>
              </Text>
              <Text size="xs" c="dimmed">
                {[q.device, q.codec].filter(Boolean).join(' · ')}
              </Text>
              <Text size="sm">
                {`${t('mos')} ${formatNumber(q.mos, 1)} · ${t('loss')} ${formatPercent(q.loss, 1)}`}
                {q.jitter_ms !== null && ` · ${t('jitter')} ${t('ms', { value: formatNumber(q.jitter_ms) })}`}
                {q.round_trip_ms !== null &&
                  ` · ${t('round_trip')} ${t('ms', { value: formatNumber(q.round_trip_ms) })}`}
              </Text>
              <Text size="xs" c="dimmed">
                {t('mos_hint', { worst: formatNumber(q.worst_mos, 1) })}
              </Text>
            </li>
          );
        })}
      </ul>
    </Card>
  );
}
function Head({ conversation: c }: Props): ReactNode {
  const me = useMe();
  const call = useCall();
  const number = callBackOf(c, me.extension);
  const Icon = iconOf(c);
  return (
    <div>
      <Anchor component={Link} href={listAddress()} size="sm" className={styles.back ?? ''}>
        <ArrowLeft size={16} aria-hidden />
        {t('back')}
      </Anchor>
      <Group justify="space-between" align="start" gap="sm">
        <div>
          <Title order={1} size="h2" className={styles.title ?? ''}>
            {sidesOf(c, null).map((party, i) => (
              <span key={i}>
                {i > 0 && <ArrowRight size={20} aria-label="→" className={styles.arrow ?? ''} />}
                <bdi>{nameOf(party)}</bdi>
              </span>
            ))}
          </Title>
          <Group gap="xs" mt={4}>
            <Group gap={6} c={colourOf(c)}>
              <Icon size={16} aria-hidden />
              <Text size="sm" fw={600}>
                {dispositionText(c)}
              </Text>
            </Group>
            <Badge variant="light" color="gray" tt="none">
              {say(`direction_${c.direction}`)}
            </Badge>
            {c.queues.map((queue) => (
              <Badge key={queue} variant="light" color="gray" tt="none">
                {queueName(c, queue)}
              </Badge>
            ))}
            {c.state === 'amended' && (
              <Tooltip
                label={t('amended_hint')}
                multiline
                w={260}
                events={{ hover: true, focus: true, touch: true }}
              >
                <Badge variant="outline" color="gray" tt="none" tabIndex={0}>
                  {t('amended', { revision: c.revision })}
                </Badge>
              </Tooltip>
            )}
          </Group>
        </div>
        <Group gap="xs">
          {c.direction === 'in' && number !== null && <BlockCaller number={number} />}
          {number !== null && (
            <Button leftSection={<Phone size={16} aria-hidden />} onClick={() => call(number)}>
              {say('call', { number })}
            </Button>
          )}
        </Group>
      </Group>
    </div>
  );
}
export function ConversationPage({ params }: PageProps): ReactNode {
  const { conversation: c, error, retry } = useConversation(decoded(params['conversation']));
  const { extension } = useMe();
  const supervises = useMay('supervisor');
  // Also while its data is shown: it was erased meanwhile.
  if (isMissing(error))
    return (
      <Empty order={1} title={t('gone')}>
        <Text size="sm" c="dimmed">
          {t('gone_text')}
        </Text>
        <Button component={Link} href={listAddress()} variant="light">
          {t('back')}
        </Button>
      </Empty>
    );
  if (c === undefined) return error !== null ? <Failure error={error} onRetry={retry} /> : <Loading />;
  const mayAdd = supervises || mayAddTo(c, extension);
  return (
    <Stack gap="md">
      {error !== null && <Failure error={error} onRetry={retry} />}
      <Head conversation={c} />
      {c.erased && <Alert color="gray">{t('erased')}</Alert>}
      <ZoneNote />
      <Paper withBorder p="md">
        <Figures conversation={c} />
      </Paper>
      <Course conversation={c} />
      <SimpleGrid
        cols={{ base: 1, lg: 2 }}
        spacing="md"
        verticalSpacing="md"
        className={styles.columns ?? ''}
      >
        <Stack gap="md" miw={0}>
          {c.recordings.length > 0 && (
            <Card title={t('recordings')}>
              <Recordings conversation={c} mayPlay={mayAdd} />
            </Card>
          )}
          <Card title={t('facts')}>
            <Facts conversation={c} />
          </Card>
          <Card title={t('parties')}>
            <Parties conversation={c} />
          </Card>
          {c.quality.length > 0 && <Quality conversation={c} />}
        </Stack>
        <Stack gap="md" miw={0}>
          <Card title={t('notes')}>
            <Notes key={c.id} conversation={c} mayAdd={mayAdd} />
          </Card>
          {(mayAdd || c.outcome !== null) && (
            <Card title={t('outcome')}>
              <Outcome key={c.id} conversation={c} mayAdd={mayAdd} />
            </Card>
          )}
        </Stack>
      </SimpleGrid>
    </Stack>
  );
}
