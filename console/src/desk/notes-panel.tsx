import { useEffect, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { Anchor, Button, Group, Paper, Stack, Text, TextInput, Textarea, Title } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Check, NotebookPen, Tag } from 'lucide-react';
import { useAttempt } from '../app/attempt.ts';
import { draftsOf, useDraft } from '../app/draft.ts';
import { formatDateTime, formatTime } from '../app/format.ts';
import { useClient, useMe } from '../app/session.tsx';
import { ActionButton, ActionError, useAction } from './action.tsx';
import { useShortcut } from './shortcuts.ts';
import { useConversation } from './use-desk.ts';
import type { Conversation } from './use-desk.ts';
import { wordsOf } from '../app/words.ts';
import styles from './desk.module.css';

const t = wordsOf('desk');

const NOTE = 'note.';
const OUTCOME = 'outcome.';
export const isHalfWritten = (extension: string, id: string): boolean =>
  [NOTE, OUTCOME].some((kind) => draftsOf(extension, kind).some(({ name }) => name === kind + id));
/** Limit of the service. */
const MOST = 2_000;
const CODE = /^[a-z0-9][a-z0-9_-]{0,63}$/;
/** Dispositions set recently, as suggestions. */
const SUGGESTED = 6;

interface NotesPanelProps {
  /** Id of any call of the conversation. */
  readonly id: string;
  readonly conversation: Conversation | undefined;
}
interface AllNotesProps extends NotesPanelProps {
  /** The other side of the note's call, if another call is shown while the note is being finished. */
  readonly other: string | null;
  /** Ids of calls that began while this page was open. */
  readonly begun: ReadonlySet<string>;
  readonly onLeave: () => void;
}
export function NotesPanel({ id, conversation: shown, other, begun, onLeave }: AllNotesProps): ReactNode {
  const read = useConversation(other === null ? null : id, begun).data;
  const conversation = other === null ? shown : read;
  return (
    <Paper withBorder component="section" aria-labelledby="desk-note" className={styles.panel ?? ''}>
      <Title order={2} size="h5" id="desk-note">
        {t('note')}
      </Title>
      {other !== null && (
        <Group gap="xs" justify="space-between" className={styles.writing ?? ''} role="status">
          <Text size="sm" fw={600} className={styles.shrink ?? ''}>
            {t('writing_about', { who: other })}
          </Text>
          <Button size="xs" variant="default" onClick={onLeave}>
            {t('writing_leave')}
          </Button>
        </Group>
      )}
      <Note id={id} />
      <Outcome id={id} conversation={conversation} />
      {conversation !== undefined && conversation.notes.length > 0 && (
        <section aria-labelledby="desk-notes">
          <Text size="xs" fw={650} c="dimmed" id="desk-notes">
            {t('notes_before')}
          </Text>
          <ul className={styles.notes}>
            {conversation.notes.map((note) => (
              <li key={note.id}>
                <Text size="xs" c="dimmed">
                  {formatTime(note.at)} · {note.by}
                </Text>
                <Text size="sm" className={styles.written ?? ''} dir="auto">
                  {note.text}
                </Text>
              </li>
            ))}
          </ul>
        </section>
      )}
    </Paper>
  );
}
function Note({ id }: { readonly id: string }): ReactNode {
  const client = useClient();
  const queries = useQueryClient();
  const action = useAction();
  const [text, setText, clear] = useDraft(`${NOTE}${id}`);
  const attempt = useAttempt();
  const [saved, setSaved] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  useShortcut('n', () => field.current?.focus());
  const label = t('save_note');
  const work = async (): Promise<void> => {
    if (text.trim() === '') return;
    await attempt([id, text], (options) => client.conversations.addNote(id, text.trim(), options));
    setSaved(clear(text));
    await queries.invalidateQueries({ queryKey: ['conversation', id] });
  };
  return (
    <Stack gap="xs">
      <Textarea
        ref={field}
        aria-labelledby="desk-note"
        aria-keyshortcuts="n"
        placeholder={t('note_hint')}
        minRows={4}
        rows={5}
        maxLength={MOST}
        value={text}
        onChange={(event) => {
          setSaved(false);
          setText(event.currentTarget.value);
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void action.run(label, work);
          if (event.key === 'Escape') event.currentTarget.blur();
        }}
      />
      <Group gap="xs" justify="space-between">
        <ActionButton
          action={action}
          label={label}
          work={work}
          variant={text.trim() === '' ? 'default' : 'filled'}
          disabled={text.trim() === '' && action.busy === null && !saved}
          icon={<NotebookPen size={18} aria-hidden />}
        />
        <Text size="sm" role="status" className={styles.ok ?? ''}>
          {saved && (
            <>
              <Check size={14} aria-hidden /> {t('saved')}
            </>
          )}
        </Text>
      </Group>
      <ActionError action={action} />
    </Stack>
  );
}
function Outcome({ id, conversation }: NotesPanelProps): ReactNode {
  const client = useClient();
  const queries = useQueryClient();
  const action = useAction();
  const me = useMe().extension;
  const [code, setCode, clear] = useDraft(`${OUTCOME}${id}`);
  const field = useRef<HTMLInputElement>(null);
  useShortcut('u', () => field.current?.focus());
  const lately = useQuery({
    queryKey: ['conversations', 'outcomes', me],
    queryFn: async ({ signal }) => {
      const { conversations } = await client.conversations.list({ person: me, limit: 100 }, signal);
      return [...new Set(conversations.flatMap(({ outcome }) => (outcome === null ? [] : [outcome.code])))];
    },
  });
  const now = conversation?.outcome?.code ?? null;
  const bad = code !== '' && !CODE.test(code);
  const label = t('save_outcome');
  const set = (chosen: string) => async (): Promise<void> => {
    await client.conversations.setOutcome(id, { code: chosen });
    clear(code);
    await queries.invalidateQueries({ queryKey: ['conversation', id] });
  };
  const save = (): void => {
    if (CODE.test(code)) void action.run(label, set(code));
  };
  return (
    <Stack gap={6}>
      <Group align="flex-start" gap="xs" wrap="nowrap">
        <TextInput
          ref={field}
          label={t('outcome')}
          description={t('outcome_hint')}
          aria-keyshortcuts="u"
          value={code}
          maxLength={64}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          error={bad ? t('outcome_bad') : null}
          className={styles.grow ?? ''}
          onChange={(event) => setCode(event.currentTarget.value.toLowerCase().replaceAll(' ', '-'))}
          onKeyDown={(event) => {
            if (event.key === 'Enter') save();
            if (event.key === 'Escape') event.currentTarget.blur();
          }}
        />
      </Group>
      <Group gap={6}>
        {(lately.data ?? []).slice(0, SUGGESTED).map((one) => (
          <Button
            key={one}
            size="xs"
            variant={now === one ? 'light' : 'default'}
            aria-pressed={now === one}
            aria-disabled={action.busy !== null}
            leftSection={now === one ? <Check size={14} aria-hidden /> : <Tag size={14} aria-hidden />}
            onClick={() => void action.run(label, set(one))}
          >
            {one}
          </Button>
        ))}
        {code !== '' && !bad && (
          <ActionButton
            action={action}
            label={label}
            work={set(code)}
            size="xs"
            icon={<Tag size={14} aria-hidden />}
          />
        )}
      </Group>
      <ActionError action={action} />
    </Stack>
  );
}
interface UnsentNotesProps {
  readonly shown: string;
  readonly onChoose: (id: string) => void;
}
/** Unsaved notes on earlier calls. */
export function UnsentNotes({ shown, onChoose }: UnsentNotesProps): ReactNode {
  const { extension } = useMe();
  const [drafts, setDrafts] = useState(() => draftsOf(extension, NOTE));
  useEffect(() => setDrafts(draftsOf(extension, NOTE)), [extension, shown]);
  const others = drafts.filter(({ name }) => name !== `${NOTE}${shown}`);
  if (others.length === 0) return null;
  return (
    <Group gap="sm" className={styles.unsent ?? ''} role="note">
      <NotebookPen size={16} aria-hidden />
      <Text size="sm" fw={600}>
        {t('unsent')}:
      </Text>
      {others.slice(0, 5).map(({ name, at }) => (
        <Anchor
          key={name}
          component="button"
          type="button"
          size="sm"
          onClick={() => onChoose(name.slice(NOTE.length))}
        >
          {t('unsent_of', { time: formatDateTime(at) })}
        </Anchor>
      ))}
    </Group>
  );
}
