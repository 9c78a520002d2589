import { useEffect, useId, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import {
  Anchor,
  Badge,
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
import { Download, Send, Square, TriangleAlert } from 'lucide-react';
import { formatNumber } from '../app/format.ts';
import { useMe } from '../app/session.tsx';
import { Failure } from '../app/states.tsx';
import { addressOf, curlOf, filledFirst } from './operations.ts';
import type { Filled, Operation, Parameter } from './operations.ts';
import { Code, Disclosure } from './parts.tsx';
import { resolved } from './schema.ts';
import type { Schemas } from './schema.ts';
import { fileName, send } from './send.ts';
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
function AnswerView({ answer, address }: { readonly answer: Answer; readonly address: string }): ReactNode {
  const { status, statusText, ms, bytes, text, file, headers, cut } = answer;
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    if (file === null) return undefined;
    const made = URL.createObjectURL(file);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  const ok = status < 400;
  const [, code] = ok ? [] : (/"code":\s*"([a-z_]+)"/.exec(text ?? '') ?? []);
  return (
    <Stack gap="xs">
      <Group gap="sm" role="status">
        <Badge
          color={ok ? 'green' : 'red'}
          variant="light"
          size="lg"
          className={styles.status ?? ''}
          data-ok={ok || undefined}
        >
          {status} {statusText}
        </Badge>
        <Text size="sm">{ms === null ? t('sending') : t('took', { ms: formatNumber(ms) })}</Text>
        <Text size="sm">{t('bytes', { size: formatNumber(bytes) })}</Text>
        {code !== undefined && (
          <Anchor size="sm" href={`/docs/errors#${code}`}>
            {t('what_it_means', { code })}
          </Anchor>
        )}
      </Group>
      <Disclosure head={<Text size="sm">{t('headers')}</Text>}>
        {() => <Code label={t('headers')} text={headers.map(([n, value]) => `${n}: ${value}`).join('\n')} />}
      </Disclosure>
      {text !== null && text !== '' && <Code label={t('answer')} text={text} />}
      {ms !== null && bytes === 0 && <Text size="sm">{t('no_body')}</Text>}
      {cut && <Text size="sm">{t('cut')}</Text>}
      {file !== null && file.type.startsWith('audio/') && url !== null && (
        <audio controls src={url} className={styles.audio} />
      )}
      {url !== null && (
        <Group>
          <Button
            component="a"
            href={url}
            download={fileName(answer, address)}
            variant="default"
            size="xs"
            leftSection={<Download size={14} aria-hidden />}
          >
            {t('download')}
          </Button>
        </Group>
      )}
    </Stack>
  );
}
interface TryItProps {
  readonly operation: Operation;
  readonly schemas: Schemas;
  readonly filled: Filled;
  readonly onFilled: (filled: Filled) => void;
}
/** Sends the request as the person of this page; what may change something is asked about first. */
export function TryIt({ operation, schemas, filled, onFilled }: TryItProps): ReactNode {
  const me = useMe();
  const { parameters, body, method, changes } = operation;
  const [file, setFile] = useState<File | null>(null);
  const [checked, setChecked] = useState(false);
  const [asks, setAsks] = useState(false);
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [stopped, setStopped] = useState(false);
  const running = useRef<AbortController | null>(null);
  const [busy, setBusy] = useState(false);
  const confirm = useRef<HTMLButtonElement>(null);
  const title = useId();
  useEffect(() => () => running.current?.abort(), []);
  useEffect(() => {
    if (asks) confirm.current?.focus();
  }, [asks]);

  const missing = parameters.filter(
    ({ name, required }) => required === true && !filled.values[name]?.trim(),
  );
  const wrong = body === null || body.file ? null : wrongJson(filled.body);
  const lacks = body?.required === true && (body.file ? file === null : filled.body.trim() === '');
  const address = addressOf(operation, filled.values);
  async function go(): Promise<void> {
    const own = new AbortController();
    running.current = own;
    setAsks(false);
    setBusy(true);
    setError(null);
    setAnswer(null);
    setStopped(false);
    const sent = body?.file === true ? file : filled.body.trim() === '' ? null : filled.body;
    const headers = body === null || sent === null ? {} : { 'content-type': body.type };
    try {
      await send(address, { method, headers, body: sent, signal: own.signal }, (next) => {
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
  function submit(): void {
    setChecked(true);
    if (missing.length > 0 || wrong !== null || lacks) return;
    if (changes) setAsks(true);
    else void go();
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
        {body?.file === true && (
          <FileInput
            label={t('file')}
            placeholder={t('choose_file')}
            value={file}
            onChange={setFile}
            error={checked && lacks ? t('fill_in') : null}
            clearable
          />
        )}
        {body !== null && !body.file && (
          <Textarea
            label={t('body')}
            description={body.type}
            value={filled.body}
            onChange={(event) => onFilled({ ...filled, body: event.currentTarget.value })}
            error={wrong ?? (checked && lacks ? t('fill_in') : null)}
            autosize
            minRows={3}
            maxRows={18}
            spellCheck={false}
            classNames={{ input: styles.json ?? '' }}
          />
        )}
        {asks && (
          <div role="alertdialog" aria-labelledby={`${title}-ask`} className={styles.ask}>
            <Group gap={8} wrap="nowrap">
              <TriangleAlert size={18} aria-hidden className={styles.askIcon} />
              <Text size="sm" fw={650} id={`${title}-ask`}>
                {t('changes_title')}
              </Text>
            </Group>
            <Text size="sm" className={styles.wrap ?? ''}>
              {t('changes_text', { method, path: address, name })}
            </Text>
            <Group mt="sm">
              <Button ref={confirm} size="xs" onClick={() => void go()}>
                {t('send_it')}
              </Button>
              <Button size="xs" variant="default" onClick={() => setAsks(false)}>
                {t('cancel')}
              </Button>
            </Group>
          </div>
        )}
        <Group gap="sm">
          {busy ? (
            // Another element than the one that sends: a click that stops must not end up as one that sends again.
            <Button
              key="stop"
              type="button"
              variant="default"
              leftSection={<Square size={14} aria-hidden />}
              onClick={() => running.current?.abort()}
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
