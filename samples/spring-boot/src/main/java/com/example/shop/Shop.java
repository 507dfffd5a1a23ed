package com.example.shop;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.scheduling.annotation.EnableScheduling;

/** A shop of several instances, which share a database and its locks. */
@SpringBootApplication
@EnableScheduling
public class Shop {

    public static void main(String[] arguments) {
        SpringApplication.run(Shop.class, arguments);
    }
}
