import { Suspense, useState } from 'react';
import type { ReactNode } from 'react';
import { ActionIcon, Button, Group, Text, Title } from '@mantine/core';
import { Headset, Keyboard } from 'lucide-react';
import { Link } from 'wouter';
import type { Agent } from '@offhook/contract/agents.ts';
import { useMay } from '../app/session.tsx';
import { Empty, Failure, Loading } from '../app/states.tsx';
import { CallPanel } from './call-panel.tsx';
import { CallersPanel } from './callers-panel.tsx';
import { FiguresPanel } from './figures-panel.tsx';
import { ParkedPanel } from './parked-panel.tsx';
import { QueuesPanel } from './queues-panel.tsx';
import { useShortcut } from './shortcuts.ts';
import { StatePanel } from './state-panel.tsx';
import { useConversationReads, useDesk, useMyQueues } from './use-desk.ts';
import { wordsOf } from '../app/words.ts';
import styles from './desk.module.css';
import { late } from '../app/late.tsx';

const t = wordsOf('desk');

const ShortcutHelp = late(async () => (await import('./shortcut-help.tsx')).ShortcutHelp);

export function DeskPage(): ReactNode {
  const { agent, error, retry } = useDesk();
  const failure = error !== null && <Failure error={error} onRetry={retry} />;
  if (agent === undefined) return failure || <Loading />;
  // A person without a queue is not an agent for the service.
  if (agent !== null && agent.queues.length > 0) return <AgentDesk agent={agent} failure={failure} />;
  return (
    <>
      {failure}
      <NoAgent />
    </>
  );
}
function NoAgent(): ReactNode {
  const admin = useMay('admin');
  return (
    <>
      <Title order={1} size="h3">
        {t('title')}
      </Title>
      <Empty icon={<Headset size={32} aria-hidden />} title={t('no_agent')}>
        <Text size="sm" c="dimmed">
          {t(admin ? 'no_agent_admin' : 'no_agent_text')}
        </Text>
        {admin && (
          <Button component={Link} href="/admin/config/queues" variant="default" mt="xs">
            {t('to_queues')}
          </Button>
        )}
      </Empty>
    </>
  );
}
interface AgentDeskProps {
  readonly agent: Agent;
  /** Beside the buttons of the call, so that they stay in their place. */
  readonly failure: ReactNode;
}
function AgentDesk({ agent, failure }: AgentDeskProps): ReactNode {
  const [help, setHelp] = useState(false);
  const queues = useMyQueues(agent.queues.map((q) => q.queue));
  useConversationReads();
  useShortcut('?', () => setHelp(true));
  return (
    <div className={styles.desk}>
      <Group justify="space-between" wrap="nowrap" className={styles.top ?? ''}>
        <Title order={1} size="h3">
          {t('title')}
        </Title>
        <ActionIcon
          variant="default"
          size={40}
          title={t('help')}
          aria-label={t('help')}
          onClick={() => setHelp(true)}
        >
          <Keyboard size={18} aria-hidden />
        </ActionIcon>
      </Group>
      <StatePanel agent={agent} queues={queues} />
      <div className={styles.main}>
        <CallPanel agent={agent} queues={queues} />
      </div>
      <div className={styles.side}>
        {failure}
        <QueuesPanel agent={agent} queues={queues} />
        <CallersPanel agent={agent} queues={queues} />
        <ParkedPanel />
        <FiguresPanel agent={agent} queues={queues} />
      </div>
      {help && (
        <Suspense>
          <ShortcutHelp onClose={() => setHelp(false)} />
        </Suspense>
      )}
    </div>
  );
}
