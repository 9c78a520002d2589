import { useMemo } from 'react';
import type { ReactNode } from 'react';
import { Badge, Group, Stack, Text, Title } from '@mantine/core';
import { useSession } from '../app/session.tsx';
import { Catalogue } from './catalogue.tsx';
import { messagesOf, topicsOf } from './events.ts';
import type { AsyncApi, Message } from './events.ts';
import { SchemaView } from './fields.tsx';
import { LiveEvents } from './live-events.tsx';
import { Code, Disclosure } from './parts.tsx';
import { sampleOf } from './schema.ts';
import type { Schemas } from './schema.ts';
import { wordsOf } from '../app/words.ts';
import styles from './api.module.css';

const t = wordsOf('api');

interface MessageProps {
  readonly message: Message;
  readonly schemas: Schemas;
}
const MessageRow = ({ message, schemas }: MessageProps): ReactNode => (
  <Disclosure
    className={styles.operation}
    id={message.name}
    head={
      <span className={styles.head}>
        <span className={styles.path}>{message.name}</span>
        <span className={styles.summary} lang="en">
          {message.summary}
        </span>
      </span>
    }
  >
    {() => (
      <div className={styles.column}>
        {message.topics.length > 0 && (
          <Group gap="xs" mb="xs">
            <Text size="sm">{t('told_on')}</Text>
            {message.topics.map((topic) => (
              <Badge key={topic} variant="default" className={styles.badge ?? ''}>
                {topic}
              </Badge>
            ))}
          </Group>
        )}
        {message.event && (
          <Title order={3} size="h6">
            {t('fields_of', { name: t('data') })}
          </Title>
        )}
        <SchemaView schema={message.schema} schemas={schemas} />
        <Disclosure head={<Text size="sm">{t('example')}</Text>}>
          {() => (
            <Code
              label={t('example')}
              text={JSON.stringify(sampleOf(message.schema, schemas, 'all'), null, 2)}
            />
          )}
        </Disclosure>
      </div>
    )}
  </Disclosure>
);

/** Every event and frame, and the live events. */
export function EventList({ document }: { readonly document: AsyncApi }): ReactNode {
  const { state } = useSession();
  const messages = useMemo(() => messagesOf(document), [document]);
  const schemas = document.components.schemas ?? {};
  const topics = topicsOf(document)
    .map(({ address }) => address)
    .filter((address) => !address.includes('{'));
  return (
    <Stack gap="md">
      {state.is === 'in' && <LiveEvents topics={topics} />}
      <Catalogue
        items={messages}
        first="call"
        label={t('search_events')}
        head={(found) =>
          schemas.Envelope !== undefined &&
          found === null && (
            <Disclosure head={<Text size="sm">{t('envelope')}</Text>}>
              {() => (
                <div className={styles.nested}>
                  <SchemaView schema={{ $ref: '#/components/schemas/Envelope' }} schemas={schemas} />
                </div>
              )}
            </Disclosure>
          )
        }
        sectionOf={({ group }) => group}
        row={(message) => <MessageRow key={message.name} message={message} schemas={schemas} />}
      />
    </Stack>
  );
}
