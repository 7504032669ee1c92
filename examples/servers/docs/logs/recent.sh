# `timeframe` is the argument of the URI. Each line begins with its time in seconds.
case "$timeframe" in
    7d) span=604800 ;;
    24h) span=86400 ;;
    *) span=3600 ;;
esac
last=$(tail -n 1 app.log)
since=$((${last%% *} - span))
while read -r at words; do
    if [ "$at" -ge "$since" ]; then
        echo "$at $words"
    fi
done < app.log
