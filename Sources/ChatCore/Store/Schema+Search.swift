extension Schema {
    /// Words in PostgreSQL as SQLite has them: parted by everything but letters and digits, and without the accents of
    /// Latin letters. PostgreSQL's own parser keeps links, addresses, versions and names of files in one piece, so it
    /// is given none of the signs that it knows them by. Other signs it passes over where the database's language knows
    /// them; under `LC_CTYPE = C` it takes all beyond ASCII for letters, hence the most common blocks of them.
    ///
    /// Only of a database in UTF-8 it is known which characters the bytes are.
    static let searchWords = Step(
        "search_words", sqlite: "",
        postgres: #"""
            ALTER TABLE messages DROP COLUMN words;
            DO $step$ BEGIN
            IF getdatabaseencoding() = 'UTF8' THEN
                ALTER TABLE messages ADD COLUMN words tsvector
                GENERATED ALWAYS AS (to_tsvector('simple', regexp_replace(
                    normalize(regexp_replace(normalize(content, NFD), '([A-Za-z])[\u0300-\u036f]+', '\1', 'g'), NFC),
                    '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf'
                    '\u00d7\u00f7\u2000-\u206f\u20a0-\u20c0\u2190-\u245f\u2500-\u2775\u2794-\u2bff\u3000-\u3004'
                    '\u3008-\u3020\ufe00-\ufe0f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65'
                    '\U0001f000-\U0001f0ff\U0001f10d-\U0001faff]+', ' ', 'g'))) STORED; \#
            ELSE
                ALTER TABLE messages ADD COLUMN words tsvector
                GENERATED ALWAYS AS (to_tsvector('simple', regexp_replace(
                    content, '[\x01-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f]+', ' ', 'g'))) STORED; \#
            END IF; \#
            END $step$;
            CREATE INDEX message_words ON messages USING GIN (words)
            """#)
}
