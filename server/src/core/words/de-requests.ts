/** Refusals of requests, streams and webhooks in German. */
export const requests: Readonly<Record<string, string>> = {
  'not an extension': 'ist keine Nebenstelle',
  'a figure is named twice': 'eine Kennzahl steht zweimal da',
  'a queue has two tiles': 'eine Warteschlange hat zwei Kacheln',
  'a part is named twice': 'ein Teil steht zweimal da',
  'a figure has two thresholds': 'eine Kennzahl hat zwei Schwellen',
  'control characters are not part of a name': 'Steuerzeichen gehören nicht in einen Namen',
  'a queue is named twice': 'eine Warteschlange steht zweimal da',
  'not an id of a board': 'ist keine Kennung einer Tafel',
  'letters, digits, and " ._-" between them': 'Buchstaben, Ziffern und dazwischen " ._-"',
  'not an id of a callback': 'ist keine Kennung eines Rückrufs',
  'not an API key': 'ist kein API-Schlüssel',
  'goes with the kind ldap': 'gehört zur Art ldap',
  'not an LDAP attribute': 'ist kein LDAP-Attribut',
  'has more than 10 attributes': 'hat mehr als 10 Attribute',
  'not an id of a source': 'ist keine Kennung einer Quelle',
  'not an id of a network': 'ist keine Kennung eines Netzes',
  'more than ten values': 'mehr als zehn Werte',
  'not a name or address': 'ist kein Name und keine Adresse',
  'this engine has no ways to check': 'diese Anlage hat keine Wege, die geprüft werden könnten',
  'no node leads the site at the moment; try again shortly':
    'im Moment führt kein Knoten diese Anlage; gleich noch einmal versuchen',
  'the leading node gave no answer: it is not known whether the request was carried out; a repeat with the same Idempotency-Key is safe':
    'der führende Knoten hat nicht geantwortet: ob die Anfrage ausgeführt wurde, ist nicht bekannt; eine Wiederholung mit demselben Idempotency-Key schadet nicht',
  'this node is a standby; the active one answers': 'dieser Knoten steht bereit; der führende antwortet',
  'this node cannot tell whether another one leads the site now':
    'dieser Knoten weiß nicht, ob gerade ein anderer die Anlage führt',
  'the engine is not connected': 'die Anlage ist nicht verbunden',
  'a check of the ways is under way': 'eine Prüfung der Wege läuft schon',
  'host: name or address of the site for other machines; the network has no external_address':
    'host: Name oder Adresse des Standorts für andere Rechner; das Netz hat keine external_address',
  'SIP listens on {0} only, which no other machine reaches: set OFFHOOK_SIP_LISTEN':
    'SIP lauscht nur auf {0}, was kein anderer Rechner erreicht: OFFHOOK_SIP_LISTEN setzen',
  'not an id of a rule': 'ist keine Kennung einer Regel',
  'holds a colon or a control character': 'enthält einen Doppelpunkt oder ein Steuerzeichen',
  'not an id of a customer': 'ist keine Kennung eines Kunden',
  'not an id of a display key': 'ist keine Kennung eines Anzeigeschlüssels',
  'not the id of a call or a leg': 'ist keine Kennung eines Anrufs oder eines Zweigs',
  'not digits': 'besteht nicht aus Ziffern',
  'not up to 15 digits, with or without a + in front': 'sind nicht bis zu 15 Ziffern, mit oder ohne + davor',
  'a line of at most 200 characters': 'muss eine Zeile mit höchstens 200 Zeichen sein',
  'not an address that others can reach': 'keine Adresse, die andere erreichen können',
  'fewer than four ports': 'weniger als vier Ports',
  'not 1 to 40 of a-z 0-9 _ -': 'sind nicht 1 bis 40 Zeichen aus a-z 0-9 _ -',
  'not 2 to 10 digits, the first not 0': 'sind nicht 2 bis 10 Ziffern, deren erste nicht 0 ist',
  "not 1 to 80 letters, digits, single spaces or . ' ( ) & / + _ -":
    "sind nicht 1 bis 80 Buchstaben, Ziffern, einzelne Leerzeichen oder . ' ( ) & / + _ -",
  'more than 79 bytes of UTF-8': 'ist in UTF-8 länger als 79 Bytes',
  "not 1 to 64 letters, digits, single spaces or . ' ( ) & / + _ -":
    "sind nicht 1 bis 64 Buchstaben, Ziffern, einzelne Leerzeichen oder . ' ( ) & / + _ -",
  'not 4 to 12 digits': 'sind nicht 4 bis 12 Ziffern',
  'not the name of a sound': 'ist kein Name eines Tons',
  'not a service number': 'ist keine Dienstnummer',
  'not 1 to 64 of a-z 0-9 . _ @ -': 'sind nicht 1 bis 64 Zeichen aus a-z 0-9 . _ @ -',
  'one of them twice': 'eines davon steht zweimal da',
  'not 12 hexadecimal digits': 'sind nicht 12 hexadezimale Ziffern',
  'not a language such as en, fr or pt_BR': 'ist keine Sprache wie en, fr oder pt_BR',
  'not 43 of A-Z a-z 0-9 _ -': 'sind nicht 43 Zeichen aus A-Z a-z 0-9 _ -',
  'not 1 to 20 of a-z _': 'sind nicht 1 bis 20 Zeichen aus a-z _',
  'not 1 to 40 of 0-9 + * # a-z _ -': 'sind nicht 1 bis 40 Zeichen aus 0-9 + * # a-z _ -',
  'not 1 to 32 of 0-9 * #, with or without a + in front':
    'sind nicht 1 bis 32 Zeichen aus 0-9 * #, mit oder ohne + davor',
  'not 22 to 128 of A-Z a-z 0-9 _ -': 'sind nicht 22 bis 128 Zeichen aus A-Z a-z 0-9 _ -',
  'not one key': 'ist nicht genau eine Taste',
  'not a time such as 08:30': 'ist keine Uhrzeit wie 08:30',
  'not the id of a sound': 'ist keine Kennung eines Tons',
  'a dot at its end': 'endet mit einem Punkt',
  'not 1 to 64 of A-Z a-z 0-9 + . _ -': 'sind nicht 1 bis 64 Zeichen aus A-Z a-z 0-9 + . _ -',
  'not 1 to 128 printable characters other than ; \\':
    'sind nicht 1 bis 128 druckbare Zeichen außer ; und \\',
  'matches nearly everything': 'passt auf fast jede Nummer',
  'not a + and 1 to 6 digits, the first not 0': 'ist nicht + und 1 bis 6 Ziffern, die erste nicht 0',
  'not digits and X, Z, N with . or ! at the end': 'sind nicht Ziffern und X, Z, N mit . oder ! am Ende',
  'not the id of a feature code, such as agent.login':
    'ist keine Kennung eines Funktionscodes wie agent.login',
  'not * or # and 1 to 6 digits': 'sind nicht * oder # und 1 bis 6 Ziffern',
  'not a number or a code': 'ist weder eine Nummer noch ein Code',
  'not 1 to 40 of 0-9 * #, with or without a + in front':
    'sind nicht 1 bis 40 Zeichen aus 0-9 * #, mit oder ohne + davor',
  'not up to 32 digits, with or without a + in front': 'sind nicht bis zu 32 Ziffern, mit oder ohne + davor',
  'in braces there can be {number}, {name}, {conversation} and {queue} only':
    'in geschweiften Klammern stehen nur {number}, {name}, {conversation} und {queue}',
  'not an address that begins with https:// or http:// and a host':
    'ist keine Adresse, die mit https:// oder http:// und einem Rechnernamen beginnt',
  'a whole number': 'muss eine ganze Zahl sein',
  'not a code: small letters, digits, "_" and "-", 64 at most':
    'ist kein Code: Kleinbuchstaben, Ziffern, "_" und "-", höchstens 64',
  'not the id of a conversation': 'ist keine Kennung eines Gesprächs',
  'holds a control character': 'enthält ein Steuerzeichen',
  'not the id of a note': 'ist keine Kennung einer Notiz',
  'not the name of a codec': 'ist kein Name eines Codecs',
  'not a queue': 'ist keine Warteschlange',
  'a column is named twice': 'eine Spalte steht zweimal da',
  'not an id of an export': 'ist keine Kennung eines Exports',
  'not a whole number': 'ist keine ganze Zahl',
  'not a cursor of this list': 'ist keine Marke dieser Liste',
  'a scope is named twice': 'ein Bereich steht zweimal da',
  'not an id of an API key': 'ist keine Kennung eines API-Schlüssels',
  'not an id of a session': 'ist keine Kennung einer Sitzung',
  'has no text: null is for none': 'hat keinen Text: für keinen steht null',
  'not a number': 'ist keine Nummer',
  'not an id': 'ist keine Kennung',
  'not the name of a queue': 'ist kein Name einer Warteschlange',
  'not the id of a caller who waits': 'ist keine Kennung eines wartenden Anrufers',
  'not the id of a recording': 'ist keine Kennung einer Aufnahme',
  'holds a NUL': 'enthält ein NUL',
  'longer than 1024 bytes': 'ist länger als 1024 Bytes',
  'shorter than 8 bytes': 'ist kürzer als 8 Bytes',
  'not a topic; topics are presence, calls, alerts, parking, queues, agents, history, phonebook/shared, phonebook/mine, trunks, config and system, some with /<extension>, /<queue> or /mine':
    'ist kein Thema; Themen sind presence, calls, alerts, parking, queues, agents, history, phonebook/shared, phonebook/mine, trunks, config und system, manche mit /<extension>, /<queue> oder /mine',
  'expected <seq>:<check> of an event': 'erwartet wird <seq>:<check> eines Ereignisses',
  'not an id of a webhook': 'ist keine Kennung eines Webhooks',
  'not a host, an address or a network of at least 8 bits such as 10.1.0.0/16':
    'ist weder ein Rechner noch eine Adresse noch ein Netz von mindestens 8 Bit wie 10.1.0.0/16',
  'not a host, an address or a network such as 10.1.0.0/16':
    'ist weder ein Rechner noch eine Adresse noch ein Netz wie 10.1.0.0/16',
  'not the number of an apply': 'ist keine Nummer einer Übernahme',
  'not the number of a version': 'ist keine Nummer einer Version',
  'the file has {0} bytes': 'die Datei hat {0} Bytes',
  'an integer': 'eine ganze Zahl',
  null: 'null',
  '{0}: not * and not tags in quotes': '{0}: weder * noch Marken in Anführungszeichen',
  'body: a string contains an unpaired UTF-16 surrogate':
    'body: ein Text enthält ein einzelnes UTF-16-Surrogat',
  'body: the key "{0}" occurs twice; send it once':
    'body: der Schlüssel "{0}" kommt zweimal vor; senden Sie ihn einmal',
  'body: nested deeper than {0}': 'body: tiefer verschachtelt als {0}',
  'request bodies use all the memory set aside for them; send it again later':
    'Anfragen belegen den ganzen Speicher für Bodys; senden Sie es später noch einmal',
  'your other requests use all the memory one caller may use for bodies; send this one when they are answered':
    'Ihre anderen Anfragen belegen den ganzen Speicher, den ein Aufrufer für Bodys hat; senden Sie diese, wenn sie beantwortet sind',
  'body: more than {0} values; send fewer at once': 'body: mehr als {0} Werte; senden Sie weniger auf einmal',
  '{0} changes of {1} are already waiting; try again later':
    '{0} Änderungen von {1} warten schon; versuchen Sie es später noch einmal',
  'too many writes are waiting': 'zu viele Schreibvorgänge warten',
  'the writes before this one did not end': 'die Schreibvorgänge davor wurden nicht fertig',
  'more than {0} streams are open': 'mehr als {0} Streams sind offen',
  'topics: you have no access to {0}': 'topics: Sie haben keinen Zugriff auf {0}',
  'topics: {0} is personal and not available to API keys':
    'topics: {0} ist persönlich und für API-Schlüssel nicht verfügbar',
  'topics: {0} is outside the queues and extensions of this API key':
    'topics: {0} gehört nicht zu den Warteschlangen und Nebenstellen dieses API-Schlüssels',
  'this API key lacks the scope {0}, which {1} needs':
    'diesem API-Schlüssel fehlt der Bereich {0}, den {1} verlangt',
  'binary frame: send each frame as text with one JSON object':
    'binärer Frame: senden Sie jeden Frame als Text mit einem JSON-Objekt',
  'more than 100 frames per second; send fewer': 'mehr als 100 Frames in der Sekunde; senden Sie weniger',
  'too many changes of the subscription; slow down': 'zu viele Änderungen des Abonnements; langsamer bitte',
  'more than {0} commands are under way': 'mehr als {0} Befehle sind in Arbeit',
  'topics: more than {0} in one subscription': 'topics: mehr als {0} in einem Abonnement',
  'the snapshot cannot be built now; try again later':
    'der Snapshot kann gerade nicht erstellt werden; versuchen Sie es später noch einmal',
  'the frame is not JSON': 'der Frame ist kein JSON',
  'the frame is not a JSON object': 'der Frame ist kein JSON-Objekt',
  'op: must be subscribe, unsubscribe, ping, pong or command':
    'op: muss subscribe, unsubscribe, ping, pong oder command sein',
  'Last-Event-ID: must be the id of an event, a whole number':
    'Last-Event-ID: muss die id eines Ereignisses sein, eine ganze Zahl',
  'too many tickets were issued and not used; use one or wait until they expire':
    'zu viele Tickets wurden ausgestellt und nicht benutzt; benutzen Sie eines oder warten Sie, bis sie verfallen',
  'not the name of a setting': 'ist kein Name einer Einstellung',
  'not the key of a connector file': 'ist kein Schlüssel einer Konnektordatei',
  'not an id of a connector': 'ist keine Kennung eines Konnektors',
  'not an id of an entry': 'ist keine Kennung eines Eintrags',
  'give either file or source': 'geben Sie entweder file oder source an',
  'a site has at most {0} connectors; delete one': 'es gibt höchstens {0} Konnektoren; löschen Sie einen',
  'source: this connector uses a file of the list': 'source: dieser Konnektor verwendet eine Datei der Liste',
  'a test of this connector is under way': 'ein Test dieses Konnektors läuft',
  'there is no such entry': 'diesen Eintrag gibt es nicht',
  'the entry is {0}, so it needs no retry': 'der Eintrag ist im Zustand {0} und braucht keine Wiederholung',
  'there is no such connector': 'diesen Konnektor gibt es nicht',
  'file: {0}': 'file: {0}',
  'source: {0}': 'source: {0}',
  'body: {0}': 'body: {0}',
  'settings.{0}: {1}': 'settings.{0}: {1}',
  'there is no such webhook': 'diesen Webhook gibt es nicht',
  'url: {0} does not resolve to a public address': 'url: {0} führt zu keiner öffentlichen Adresse',
  'topics: {0} is beyond the rights of who owns this webhook':
    'topics: {0} geht über die Rechte des Besitzers dieses Webhooks hinaus',
  'a site has at most {0} webhooks; delete one': 'es gibt höchstens {0} Webhooks; löschen Sie einen',
  'who owns this webhook is gone; delete it and create another':
    'den Besitzer dieses Webhooks gibt es nicht mehr; löschen Sie ihn und legen Sie einen neuen an',
  'topics: who owns this webhook may hear none of them':
    'topics: der Besitzer dieses Webhooks darf keines davon hören',
  'a test of this webhook is under way': 'ein Test dieses Webhooks läuft',
  'enable this webhook first': 'schalten Sie diesen Webhook zuerst ein',
  'a replay is under way, up to {0}': 'eine Wiederholung läuft, bis {0}',
  'from: no event after {0} has been delivered yet': 'from: nach {0} wurde noch nichts übergeben',
  'url: not a URL': 'url: ist keine URL',
  'url: only http and https are called': 'url: nur http und https werden aufgerufen',
  'url: it holds credentials': 'url: enthält Anmeldedaten',
  'address: it holds credentials': 'address: enthält Anmeldedaten',
  'url: it holds a blank or a backslash': 'url: enthält ein Leerzeichen oder einen umgekehrten Schrägstrich',
  'url: a fragment is never sent': 'url: ein Teil hinter # wird nie gesendet',
  'url: write the host as {0}': 'url: schreiben Sie den Rechner als {0}',
  'url: requests to port {0} are not allowed': 'url: Port {0} wird nie aufgerufen',
  'url: the host ends in a full stop': 'url: der Rechnername endet mit einem Punkt',
  'url: {0} is not a public address; an administrator can allow it in the settings of webhooks':
    'url: {0} ist keine öffentliche Adresse; ein Administrator kann sie in den Einstellungen der Webhooks erlauben',
  'this path accepts only WebSocket: send an upgrade request':
    'dieser Pfad nimmt nur WebSocket an: senden Sie eine Upgrade-Anfrage',
  'the WebSocket handshake is not valid; it needs Sec-WebSocket-Version 13 and a Sec-WebSocket-Key':
    'der WebSocket-Handshake ist nicht gültig; er braucht Sec-WebSocket-Version 13 und einen Sec-WebSocket-Key',
  'ticket: unknown, already used or older than 30 seconds; request a new one':
    'ticket: unbekannt, schon benutzt oder älter als 30 Sekunden; fordern Sie ein neues an',
  'Origin: a session cookie is accepted only from the origin of this service; other origins use a bearer token':
    'Origin: ein Sitzungs-Cookie gilt nur vom Ursprung dieses Dienstes; andere Ursprünge nutzen ein Bearer-Token',
  'this session was not confirmed in the last 5 minutes: POST /api/v1/session/confirm, then send the request again':
    'diese Sitzung wurde in den letzten 5 Minuten nicht bestätigt: senden Sie POST /api/v1/session/confirm und dann die Anfrage noch einmal',
  'the upload is larger than {0} bytes': 'der Upload ist größer als {0} Bytes',
  'the body ended early': 'der Body endete zu früh',
  'Content-Type must be audio/… or application/octet-stream':
    'Content-Type muss audio/… oder application/octet-stream sein',
  'Content-Type must be application/json in UTF-8': 'Content-Type muss application/json in UTF-8 sein',
  'Content-Type must be application/json or {0} in UTF-8':
    'Content-Type muss application/json oder {0} in UTF-8 sein',
  'Content-Encoding is not supported; send the body uncompressed':
    'Content-Encoding wird nicht unterstützt; senden Sie den Body unkomprimiert',
  'the body is larger than {0} bytes': 'der Body ist größer als {0} Bytes',
  'body: not valid UTF-8': 'body: kein gültiges UTF-8',
  'body: the field "{0}" occurs twice; send it once':
    'body: das Feld "{0}" kommt zweimal vor; senden Sie es einmal',
  'body: the field __proto__ is refused': 'body: das Feld __proto__ wird abgelehnt',
  'body: broken percent-encoding': 'body: fehlerhafte Prozentkodierung',
  'there is no such path; this address has /metrics, /healthz and /readyz':
    'diesen Pfad gibt es nicht; diese Adresse hat /metrics, /healthz und /readyz',
  'this path takes GET': 'dieser Pfad nimmt GET',
  'the service failed': 'der Dienst ist gescheitert',
  'this site requires a second factor: POST /api/v1/session/otp, then /api/v1/session/otp/confirm':
    'hier wird ein zweiter Faktor verlangt: POST /api/v1/session/otp, dann /api/v1/session/otp/confirm',
  'this path accepts no WebSocket; the event stream is /api/v1/stream':
    'dieser Pfad nimmt keinen WebSocket an; der Ereignis-Stream ist /api/v1/stream',
  'Origin: this origin is not allowed; an administrator can add it to the allowed origins':
    'Origin: dieser Ursprung ist nicht erlaubt; ein Administrator kann ihn zu den erlaubten hinzufügen',
  '"{0}" is not allowed in the address, which logs keep; send it in a header':
    '"{0}" ist in der Adresse nicht erlaubt, weil Protokolle sie aufbewahren; senden Sie es in einer Kopfzeile',
  'Idempotency-Key: 1 to 255 printable characters without spaces':
    'Idempotency-Key: 1 bis 255 druckbare Zeichen ohne Leerzeichen',
  'the results of repeated requests cannot be stored now; try again later':
    'die Ergebnisse wiederholter Anfragen können gerade nicht gespeichert werden; versuchen Sie es später',
  'Idempotency-Key: the first attempt was interrupted or its stored reply is unreadable, so its result is unknown; check the state, then use a new key':
    'Idempotency-Key: der erste Versuch wurde unterbrochen oder seine gespeicherte Antwort ist unlesbar, daher ist sein Ergebnis unbekannt; prüfen Sie den Zustand und nehmen Sie dann einen neuen Schlüssel',
  'Idempotency-Key: already used with another body; use a new key':
    'Idempotency-Key: schon mit einem anderen Body benutzt; nehmen Sie einen neuen Schlüssel',
  'action: no command has this name; see the commands of the stream in /api/v1/asyncapi.json':
    'action: kein Befehl heißt so; die Befehle des Streams stehen in /api/v1/asyncapi.json',
  'data: must be an object': 'data: muss ein Objekt sein',
  'the body is larger than this path takes': 'der Body ist größer, als dieser Pfad annimmt',
  'body: an empty body is not valid JSON; send at least {}':
    'body: ein leerer Body ist kein gültiges JSON; senden Sie mindestens {}',
  'this is not an HTTP/1.1 request': 'das ist keine HTTP/1.1-Anfrage',
  'this path accepts only SIP over WebSocket: send an upgrade request':
    'dieser Pfad nimmt nur SIP über WebSocket an: senden Sie eine Upgrade-Anfrage',
  'Sec-WebSocket-Protocol must name "sip"': 'Sec-WebSocket-Protocol muss "sip" nennen',
  'too many connections; try again later': 'zu viele Verbindungen; versuchen Sie es später noch einmal',
  'the connection was closed meanwhile': 'die Verbindung wurde inzwischen geschlossen',
  'the engine takes no SIP connection now: {0}': 'die Anlage nimmt gerade keine SIP-Verbindung an: {0}',
  'is not valid here': 'ist hier nicht gültig',
  'the answer has {0} bytes, more than {1}; read single objects instead':
    'die Antwort hat {0} Bytes, mehr als {1}; lesen Sie einzelne Objekte',
  'the answer has {0} bytes, more than {1}; narrow it by {2}':
    'die Antwort hat {0} Bytes, mehr als {1}; grenzen Sie sie ein mit {2}',
  'a cookie is not accepted here; send the API key or session as a bearer token':
    'hier gilt kein Cookie; senden Sie den API-Schlüssel oder die Sitzung als Bearer-Token',
  '{0} messages of {1} are under way; wait for one of them':
    '{0} Nachrichten von {1} sind noch in Arbeit; warten Sie auf eine davon',
  'a session only reads here; use an API key with the scope {0}':
    'eine Sitzung liest hier nur; verwenden Sie einen API-Schlüssel mit dem Scope {0}',
  'arguments: {0} characters are more than a person can confirm; send at most {1}':
    'arguments: {0} Zeichen sind mehr, als ein Mensch bestätigen kann; senden Sie höchstens {1}',
  'begins with one /, after the base': 'beginnt mit einem /, nach der base',
  'not the name of a header': 'ist kein Name eines Headers',
  'exactly one of get, post, put, patch and delete with its path':
    'genau eines von get, post, put, patch und delete mit seinem Pfad',
  'not the name of a form field': 'ist kein Name eines Formularfelds',
  'an attach is no get': 'ein attach ist kein get',
  'file and body exclude each other': 'file und body schließen einander aus',
  'needs `url` or `show`': 'braucht `url` oder `show`',
  '`hide` needs `show`': '`hide` braucht `show`',
  'not a number format': 'ist kein Format für Nummern',
  '`once: find` and `find` belong together': '`once: find` und `find` gehören zusammen',
};
