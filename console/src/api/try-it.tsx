import { useEffect, useId, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import {
  Button,
  FileInput,
  Group,
  NativeSelect,
  Stack,
  Text,
  Textarea,
  TextInput,
  Title,
} from '@mantine/core';
import { Send, Square, TriangleAlert } from 'lucide-react';
import { useMe } from '../app/session.tsx';
import { Failure } from '../app/states.tsx';
import { AnswerView } from './answer-view.tsx';
import { addressOf, curlOf, filledFirst } from './operations.ts';
import type { Filled, Operation, Parameter } from './operations.ts';
import { Code, Disclosure } from './parts.tsx';
import { resolved } from './schema.ts';
import type { Schemas } from './schema.ts';
import { send } from './send.ts';
import type { Answer } from './send.ts';
import { wordsOf } from '../app/words.ts';
import styles from './api.module.css';

const t = wordsOf('api');

interface InputProps {
  readonly parameter: Parameter;
  readonly schemas: Schemas;
  readonly value: string;
  readonly error: string | null;
  readonly onChange: (value: string) => void;
}
function Input({ parameter, schemas, value, error, onChange }: InputProps): ReactNode {
  const { name, required = false } = parameter;
  const schema = resolved(parameter.schema, schemas);
  const shared = { label: name, value, error, withAsterisk: required, lang: 'en' } as const;
  if (schema.enum === undefined)
    return <TextInput {...shared} onChange={(event) => onChange(event.currentTarget.value)} />;
  const words = schema.enum.map(String);
  return (
    <NativeSelect
      {...shared}
      data={required ? words : ['', ...words]}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
const wrongJson = (body: string): string | null => {
  if (body.trim() === '') return null;
  try {
    JSON.parse(body);
    return null;
  } catch (error) {
    return t('not_json', { reason: (error as Error).message });
  }
};
interface TryItProps {
  readonly operation: Operation;
  readonly schemas: Schemas;
  readonly filled: Filled;
  readonly onFilled: (filled: Filled) => void;
}
interface BodyInputProps {
  readonly body: NonNullable<Operation['body']>;
  readonly file: File | null;
  readonly onFile: (file: File | null) => void;
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly error: string | null;
}
/** The body: a file, or JSON as text. */
const BodyInput = ({ body, file, onFile, text, onText, error }: BodyInputProps): ReactNode =>
  body.file ? (
    <FileInput
      label={t('file')}
      placeholder={t('choose_file')}
      value={file}
      onChange={onFile}
      error={error}
      clearable
    />
  ) : (
    <Textarea
      label={t('body')}
      description={body.type}
      value={text}
      onChange={(event) => onText(event.currentTarget.value)}
      error={error}
      autosize
      minRows={3}
      maxRows={18}
      spellCheck={false}
      classNames={{ input: styles.json ?? '' }}
    />
  );
/** One request at a time, with its answer. */
function useRequest() {
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [stopped, setStopped] = useState(false);
  const [busy, setBusy] = useState(false);
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);
  async function start(address: string, request: Omit<Parameters<typeof send>[1], 'signal'>): Promise<void> {
    const own = new AbortController();
    running.current = own;
    setBusy(true);
    setError(null);
    setAnswer(null);
    setStopped(false);
    try {
      await send(address, { ...request, signal: own.signal }, (next) => {
        if (running.current === own) setAnswer(next);
      });
    } catch (failure) {
      if (running.current !== own) return;
      if (own.signal.aborted) setStopped(true);
      else setError(failure);
    } finally {
      if (running.current === own) {
        running.current = null;
        setBusy(false);
      }
    }
  }
  return { answer, error, stopped, busy, start, stop: () => running.current?.abort() };
}
interface ConfirmChangeProps {
  readonly text: string;
  readonly onSend: () => void;
  readonly onCancel: () => void;
}
/** Asks before a request that may change something. */
function ConfirmChange({ text, onSend, onCancel }: ConfirmChangeProps): ReactNode {
  const confirm = useRef<HTMLButtonElement>(null);
  const title = useId();
  useEffect(() => confirm.current?.focus(), []);
  return (
    <div role="alertdialog" aria-labelledby={title} className={styles.ask}>
      <Group gap={8} wrap="nowrap">
        <TriangleAlert size={18} aria-hidden className={styles.askIcon} />
        <Text size="sm" fw={650} id={title}>
          {t('changes_title')}
        </Text>
      </Group>
      <Text size="sm" className={styles.wrap ?? ''}>
        {text}
      </Text>
      <Group mt="sm">
        <Button ref={confirm} size="xs" onClick={onSend}>
          {t('send_it')}
        </Button>
        <Button size="xs" variant="default" onClick={onCancel}>
          {t('cancel')}
        </Button>
      </Group>
    </div>
  );
}
/** Sends the request as the person of this page, and asks before a change. */
export function TryIt({ operation, schemas, filled, onFilled }: TryItProps): ReactNode {
  const me = useMe();
  const { parameters, body, method, changes } = operation;
  const [file, setFile] = useState<File | null>(null);
  const [checked, setChecked] = useState(false);
  const [asks, setAsks] = useState(false);
  const { answer, error, stopped, busy, start, stop } = useRequest();
  const title = useId();

  const missing = parameters.filter(
    ({ name, required }) => required === true && !filled.values[name]?.trim(),
  );
  const wrong = body === null || body.file ? null : wrongJson(filled.body);
  const lacks = body?.required === true && (body.file ? file === null : filled.body.trim() === '');
  const address = addressOf(operation, filled.values);
  function go(): void {
    setAsks(false);
    const sent = body?.file === true ? file : filled.body.trim() === '' ? null : filled.body;
    const headers = body === null || sent === null ? {} : { 'content-type': body.type };
    void start(address, { method, headers, body: sent });
  }
  function submit(): void {
    setChecked(true);
    if (missing.length > 0 || wrong !== null || lacks) return;
    if (changes) setAsks(true);
    else go();
  }
  const name = me.full_name ?? me.username;
  return (
    <form
      aria-labelledby={title}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <Stack gap="sm">
        <div>
          <Title order={3} size="h6" id={title}>
            {t('try_it')}
          </Title>
          <Text size="sm" c="dimmed">
            {t('try_lead', { name })}
          </Text>
        </div>
        {parameters.length > 0 && (
          <div className={styles.inputs}>
            {parameters.map((parameter) => (
              <Input
                key={parameter.name}
                parameter={parameter}
                schemas={schemas}
                value={filled.values[parameter.name] ?? ''}
                error={checked && missing.includes(parameter) ? t('fill_in') : null}
                onChange={(value) =>
                  onFilled({ ...filled, values: { ...filled.values, [parameter.name]: value } })
                }
              />
            ))}
          </div>
        )}
        {body !== null && (
          <BodyInput
            body={body}
            file={file}
            onFile={setFile}
            text={filled.body}
            onText={(next) => onFilled({ ...filled, body: next })}
            error={wrong ?? (checked && lacks ? t('fill_in') : null)}
          />
        )}
        {asks && (
          <ConfirmChange
            text={t('changes_text', { method, path: address, name })}
            onSend={go}
            onCancel={() => setAsks(false)}
          />
        )}
        <Group gap="sm">
          {busy ? (
            // Another element than the send button, so that a double click on stop does not send again.
            <Button
              key="stop"
              type="button"
              variant="default"
              leftSection={<Square size={14} aria-hidden />}
              onClick={stop}
            >
              {t('stop')}
            </Button>
          ) : (
            <Button key="send" type="submit" leftSection={<Send size={16} aria-hidden />} disabled={asks}>
              {t('send')}
            </Button>
          )}
          <Button
            variant="subtle"
            onClick={() => {
              onFilled(filledFirst(operation, schemas));
              setFile(null);
              setChecked(false);
              setAsks(false);
            }}
          >
            {t('reset')}
          </Button>
        </Group>
        {error !== null && <Failure error={error} />}
        {answer !== null && <AnswerView answer={answer} address={address} />}
        {stopped && <Text size="sm">{t('stopped')}</Text>}
        <Disclosure head={<Text size="sm">{t('curl')}</Text>}>
          {() => <Code label={t('curl')} text={curlOf(operation, filled, location.origin)} />}
        </Disclosure>
      </Stack>
    </form>
  );
}
